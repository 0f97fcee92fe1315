package import LoadingSemantics

/// The opening handshake of a client (RFC 6455 §4.1): the fields of its request, and the judgement of the response.
package struct WebSocketHandshake: Equatable, Sendable {
    package enum Failure: Error, Equatable, Sendable {
        /// The status is not 101, or over HTTP/2 and HTTP/3 not 200 to 299.
        case status
        case upgrade
        case connection
        case accept
        /// A subprotocol that was not offered, or more than one.
        case subprotocol
        /// An extension that was not offered, or parameters that are not valid.
        case extensions
    }

    /// What was agreed on.
    package struct Agreement: Equatable, Sendable {
        package var subprotocol: String?
        package var compression: WebSocketCompression?

        package init(subprotocol: String? = nil, compression: WebSocketCompression? = nil) {
            self.subprotocol = subprotocol
            self.compression = compression
        }
    }

    /// Base64 of sixteen octets.
    package let key: String
    private let subprotocols: [String]
    private let offersCompression: Bool

    /// - Parameter nonce: Sixteen random octets.
    package init(nonce: [UInt8], subprotocols: [String], offersCompression: Bool) {
        key = Self.base64(nonce)
        self.subprotocols = subprotocols
        self.offersCompression = offersCompression
    }

    package static let subprotocolField = "Sec-WebSocket-Protocol"

    /// The fields that a handshake sets itself.
    package static let fieldNames = [
        "Upgrade", "Connection", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "Sec-WebSocket-Extensions",
        subprotocolField,
    ]

    /// The subprotocols that a request offers, in order, each once; nil if one of them is not a token.
    package static func subprotocols(in fields: HTTPFields) -> [String]? {
        var names: [String] = []
        for value in fields.values(subprotocolField) {
            for part in value.utf8.split(separator: Octet.comma) {
                let name = trimmed(part)
                if name.isEmpty || names.contains(name) { continue }
                guard isToken(name) else { return nil }
                names.append(name)
            }
        }
        return names
    }

    /// The fields of the request over HTTP/1.1, without `Host`.
    package var http1Fields: [(name: String, value: String)] {
        [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", key)] + commonFields
    }

    /// The fields of the request in every version of HTTP (RFC 8441 §5).
    package var commonFields: [(name: String, value: String)] {
        var fields = [(name: "Sec-WebSocket-Version", value: "13")]
        if !subprotocols.isEmpty { fields.append((Self.subprotocolField, subprotocols.joined(separator: ", "))) }
        if offersCompression { fields.append(("Sec-WebSocket-Extensions", WebSocketCompression.offer)) }
        return fields
    }

    /// Judges the response to a request over HTTP/1.1.
    package func judgeHTTP1(status: Int, _ fields: HTTPFields) throws(Failure) -> Agreement {
        guard status == 101 else { throw .status }
        guard fields.combinedValue("Upgrade")?.lowercased() == "websocket" else { throw .upgrade }
        guard fields.values("Connection").contains(where: { Self.names($0).contains("upgrade") }) else {
            throw .connection
        }
        let accepts = fields.values("Sec-WebSocket-Accept")
        guard accepts.count == 1, accepts[0] == Self.accept(key) else { throw .accept }
        return try judgeOptions(fields)
    }

    /// Judges the response to an extended CONNECT over HTTP/2 and HTTP/3 (RFC 8441 §5, RFC 9220 §3).
    package func judgeConnect(status: Int, _ fields: HTTPFields) throws(Failure) -> Agreement {
        guard (200...299).contains(status) else { throw .status }
        return try judgeOptions(fields)
    }

    private func judgeOptions(_ fields: HTTPFields) throws(Failure) -> Agreement {
        var agreement = Agreement()
        let chosen = fields.values(Self.subprotocolField)
        if let name = chosen.first {
            guard chosen.count == 1, subprotocols.contains(name) else { throw .subprotocol }
            agreement.subprotocol = name
        }
        for value in fields.values("Sec-WebSocket-Extensions") {
            guard let extensions = Self.extensions(value) else { throw .extensions }
            for (name, parameters) in extensions {
                guard name == "permessage-deflate", offersCompression, agreement.compression == nil,
                    let compression = WebSocketCompression(parameters)
                else { throw .extensions }
                agreement.compression = compression
            }
        }
        return agreement
    }

    /// What the server has to answer to a key (RFC 6455 §4.2.2).
    package static func accept(_ key: String) -> String {
        base64(SHA1.hash(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }

    /// The elements of a list of tokens, in lower case.
    private static func names(_ value: String) -> [String] {
        value.utf8.split(separator: Octet.comma).map { trimmed($0).lowercased() }
    }

    /// The elements of `Sec-WebSocket-Extensions` (RFC 6455 §9.1); nil if the value is not well-formed.
    private static func extensions(
        _ value: String
    ) -> [(name: String, parameters: [(name: String, value: String?)])]? {
        var result: [(name: String, parameters: [(name: String, value: String?)])] = []
        for element in value.utf8.split(separator: Octet.comma, omittingEmptySubsequences: false) {
            let parts = element.split(separator: Octet.semicolon, omittingEmptySubsequences: false).map(trimmed)
            // A list may have empty elements (RFC 9110 §5.6.1).
            if parts.count == 1, parts[0].isEmpty { continue }
            var parameters: [(name: String, value: String?)] = []
            for part in parts.dropFirst() {
                let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                guard let name = sides.first, isToken(name) else { return nil }
                guard sides.count == 2 else {
                    parameters.append((name, nil))
                    continue
                }
                var text = sides[1][...]
                if text.hasPrefix("\""), text.hasSuffix("\""), text.count >= 2 { text = text.dropFirst().dropLast() }
                guard isToken(String(text)) else { return nil }
                parameters.append((name, String(text)))
            }
            guard let name = parts.first, isToken(name) else { return nil }
            result.append((name, parameters))
        }
        return result
    }

    private static func isToken(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(Octet.isToken) }

    private static func trimmed(_ text: Substring.UTF8View) -> String {
        let start = text.drop(while: Octet.isWhitespace)
        let end = start.reversed().drop(while: Octet.isWhitespace).reversed()
        return String(decoding: Array(end), as: UTF8.self)
    }

    private static func base64(_ octets: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: octets.count, by: 3) {
            let group = Array(octets[start..<min(start + 3, octets.count)])
            let word = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for index in 0..<4 { text.append(index <= group.count ? alphabet[word >> (18 - 6 * index) & 0x3F] : 0x3D) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
