internal import Foundation
internal import LoadingSemantics

extension HTTPURLResponse {
    convenience init(_ url: URL, _ head: ResponseHead, expectedLength: Int64, startOfBody: [UInt8] = []) {
        self.init(
            url: url, status: head.status, version: head.version.text,
            fields: head.fields, expectedContentLength: expectedLength, startOfBody: startOfBody)
    }

    /// A response with a complete body.
    convenience init(url: URL, status: Int, version: String, fields: HTTPFields, body: Data) {
        // A partial body (206) need not contain the first bytes, so it is not sniffed.
        let isSniffed =
            status != 206
            && MediaTypeSniffing.needsStart(
                hasContentType: fields.contains("Content-Type"),
                contentTypeOptions: fields.combinedValue("X-Content-Type-Options"), pathExtension: url.pathExtension)
        self.init(
            url: url, status: status, version: version, fields: fields, expectedContentLength: Int64(body.count),
            startOfBody: isSniffed ? Array(body.prefix(MediaTypeSniffing.length)) : [])
    }
}
