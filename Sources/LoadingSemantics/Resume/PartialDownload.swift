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
    /// The length of the file, including earlier attempts.
    package var bytesReceived: Int64
    package var fileName: String

    package init(
        method: String, originalURL: String, url: String, requestFields: HTTPFields, status: Int,
        responseFields: HTTPFields, bytesReceived: Int64, fileName: String
    ) {
        self.method = method
        self.originalURL = originalURL
        self.url = url
        self.requestFields = requestFields
        self.status = status
        self.responseFields = responseFields
        self.bytesReceived = bytesReceived
        self.fileName = fileName
    }
}
