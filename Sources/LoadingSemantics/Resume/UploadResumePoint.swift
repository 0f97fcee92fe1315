/// What is kept of an upload that stopped, so that another can go on: the contents of its resume data (RES-13).
///
/// Nothing in it proves who the user is.
package struct UploadResumePoint: Sendable, Equatable {
    package var method: String
    package var url: String
    /// Of the request as its caller made it.
    package var fields: HTTPFields
    /// Of the body, or nil if nobody knows.
    package var length: Int64?
    /// Where the server keeps what has arrived.
    package var uploadURL: String
    package var limits: UploadLimits

    /// Nil if it is nonsense.
    package init?(
        method: String, url: String, fields: HTTPFields, length: Int64?, uploadURL: String, limits: UploadLimits
    ) {
        guard ResumableUpload.isPossible(method: method, fields: fields), length.map({ $0 >= 0 }) ?? true,
            ResumableUpload.isHTTP(url), ResumableUpload.isHTTP(uploadURL)
        else { return nil }
        self.method = method
        self.url = url
        self.fields = fields
        self.length = length
        self.uploadURL = uploadURL
        self.limits = limits
    }
}
