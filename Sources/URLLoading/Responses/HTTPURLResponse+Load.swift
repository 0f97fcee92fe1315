internal import Foundation
internal import LoadingSemantics

extension HTTPURLResponse {
    convenience init(_ url: URL, _ head: ResponseHead, expectedLength: Int64) {
        self.init(
            url: url, status: head.status, version: head.version.text,
            fields: head.fields, expectedContentLength: expectedLength)
    }
}
