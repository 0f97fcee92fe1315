internal import Foundation
internal import LoadingProtocols

extension HTTPURLResponse {
    convenience init(_ url: URL, _ head: HTTP1ResponseHead, expectedLength: Int64) {
        self.init(
            url: url, status: head.status, version: head.minorVersion == 0 ? "HTTP/1.0" : "HTTP/1.1",
            fields: head.fields, expectedContentLength: expectedLength)
    }
}
