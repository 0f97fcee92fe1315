/// The state of a download, as far as its resumption depends on it.
package struct PartialDownload: Sendable, Equatable {
    package var method: String
    package var originalURL: String
    /// After redirects.
    package var url: String
    /// The fields that the caller set.
    package var requestFields: HTTPFields
    package var status: Int
    package var responseFields: HTTPFields
    /// Where the body of the response begins in the file: not 0 if it continued an earlier attempt.
    package var responseOffset: Int64
    /// The length of the file, including earlier attempts.
    package var bytesReceived: Int64
    package var fileName: String

    package init(
        method: String, originalURL: String, url: String, requestFields: HTTPFields, status: Int,
        responseFields: HTTPFields, responseOffset: Int64 = 0, bytesReceived: Int64, fileName: String
    ) {
        self.method = method
        self.originalURL = originalURL
        self.url = url
        self.requestFields = requestFields
        self.status = status
        self.responseFields = responseFields
        self.responseOffset = responseOffset
        self.bytesReceived = bytesReceived
        self.fileName = fileName
    }
}
