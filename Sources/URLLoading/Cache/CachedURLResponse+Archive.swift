internal import Foundation
internal import LoadingSemantics
internal import LoadingStorage

/// Conversion to and from the disk format. Responses that are not HTTP are stored with equivalent header fields.
extension ArchivedResponse {
    private enum Field {
        static let type = "Content-Type"
        static let length = "Content-Length"
        static let encoding = "Text-Encoding"
    }

    private static let version = "HTTP/1.1"

    /// Nil for a response without URL. A password in the URL is not written to disk.
    init?(_ cached: CachedURLResponse) {
        let response = cached.response
        guard let url = response.url.map({ URLReference.withoutUserinfo($0.absoluteString) }) else { return nil }
        let userInfo = cached.userInfoData
        if response is HTTPURLResponse, let facts = cached.facts {
            self.init(url: url, response: facts, protocolName: Self.version, userInfo: userInfo)
            return
        }
        var fields = HTTPFields()
        if let type = response.mimeType { fields.append(Field.type, type) }
        if let encoding = response.textEncodingName { fields.append(Field.encoding, encoding) }
        fields.append(Field.length, String(response.expectedContentLength))
        self.init(
            url: url, response: StoredResponse(status: 0, fields: fields), protocolName: nil,
            userInfo: userInfo)
    }

    /// Nil for an invalid entry.
    fileprivate func urlResponse(_ body: Data) -> URLResponse? {
        guard let url = URL(string: url) else { return nil }
        if let protocolName {
            return HTTPURLResponse(
                url: url, status: response.status, version: protocolName, fields: response.fields, body: body)
        }
        let length = response.fields.firstValue(Field.length).flatMap { Int($0) }
        return URLResponse(
            url: url, mimeType: response.fields.firstValue(Field.type), expectedContentLength: length ?? -1,
            textEncodingName: response.fields.firstValue(Field.encoding))
    }
}

extension CachedURLResponse {
    convenience init?(_ archived: ArchivedResponse, _ body: Data) {
        guard let response = archived.urlResponse(body) else { return nil }
        self.init(
            response: response, data: body, userInfo: archived.userInfo.flatMap(Self.userInfo), storagePolicy: .allowed,
            facts: archived.protocolName == nil ? nil : archived.response)
    }
}
