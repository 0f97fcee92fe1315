/// The contents of the resume data of an upload (RES-13).
///
/// It contains no credentials.
package struct UploadResumePoint: Sendable, Equatable {
    package var method: String
    package var url: String
    /// The fields that the caller set.
    package var fields: HTTPFields
    /// The length of the body, or nil if unknown.
    package var length: Int64?
    /// The upload resource on the server.
    package var uploadURL: String
    package var limits: UploadLimits

    /// Returns nil if the values are inconsistent.
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
