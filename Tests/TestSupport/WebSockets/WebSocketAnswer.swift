internal import Foundation

/// A server's response to the opening handshake (RFC 6455 §4.2.2). By default it agrees.
package struct WebSocketAnswer: Sendable {
    package enum Accept: Sendable {
        /// As the request's key requires.
        case correct
        case literal(String)
        case missing
    }

    package var status = 101
    package var reason = "Switching Protocols"
    /// Nil for no field.
    package var upgrade: String? = "websocket"
    package var connection: String? = "Upgrade"
    package var accept = Accept.correct
    package var subprotocol: String?
    package var extensions: String?
    package var fields: [ReceivedRequest.Field] = []

    package init() {}

    package static var agreement: Self { Self() }

    /// The first subprotocol that the client offers.
    package static func firstSubprotocol(of request: ReceivedRequest) -> Self {
        var answer = Self()
        answer.subprotocol = request["Sec-WebSocket-Protocol"].flatMap { offers in
            offers.split(separator: ",").first.map { $0.trimmingCharacters(in: .whitespaces) }
        }
        return answer
    }

    /// A changed copy.
    package func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    package func with(field name: String, _ value: String) -> Self {
        with { $0.fields.append(ReceivedRequest.Field(name, value)) }
    }

    /// The head as on the wire.
    package func head(for request: ReceivedRequest) -> String {
        var lines = ["HTTP/1.1 \(status) \(reason)"]
        if let upgrade { lines.append("Upgrade: \(upgrade)") }
        if let connection { lines.append("Connection: \(connection)") }
        switch accept {
        case .correct: lines.append("Sec-WebSocket-Accept: \(Self.accept(request["Sec-WebSocket-Key"] ?? ""))")
        case .literal(let value): lines.append("Sec-WebSocket-Accept: \(value)")
        case .missing: break
        }
        if let subprotocol { lines.append("Sec-WebSocket-Protocol: \(subprotocol)") }
        if let extensions { lines.append("Sec-WebSocket-Extensions: \(extensions)") }
        lines += fields.map { "\($0.name): \($0.value)" }
        return lines.joined(separator: "\r\n") + "\r\n\r\n"
    }

    /// What `Sec-WebSocket-Accept` is for a key.
    package static func accept(_ key: String) -> String {
        Data(SHA1.digest(of: key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")).base64EncodedString()
    }
}

/// A client's opening handshake is not what RFC 6455 §4.1 requires.
package struct InvalidOpeningHandshake: Error, CustomStringConvertible {
    package let faults: [String]
    package let request: ReceivedRequest

    package var description: String { "\(faults.joined(separator: "; ")) in \(request.headText)" }
}

extension ReceivedRequest {
    /// Throws if this is no opening handshake of a client (RFC 6455 §4.1).
    package func requireOpeningHandshake() throws {
        var faults: [String] = []
        if method != "GET" { faults.append("the method is \(method)") }
        if version != "HTTP/1.1" { faults.append("the version is \(version)") }
        if values(of: "Host").count != 1 { faults.append("Host is not there once") }
        if values(of: "Upgrade").map({ $0.lowercased() }) != ["websocket"] { faults.append("Upgrade is wrong") }
        let connection = values(of: "Connection").joined(separator: ",").lowercased().split(separator: ",")
        if !connection.contains(where: { $0.trimmingCharacters(in: .whitespaces) == "upgrade" }) {
            faults.append("Connection has no upgrade")
        }
        let keys = values(of: "Sec-WebSocket-Key")
        if keys.count != 1 || Data(base64Encoded: keys[0])?.count != 16 {
            faults.append("Sec-WebSocket-Key is not sixteen octets")
        }
        if values(of: "Sec-WebSocket-Version") != ["13"] { faults.append("Sec-WebSocket-Version is wrong") }
        if !faults.isEmpty { throw InvalidOpeningHandshake(faults: faults, request: self) }
    }

    /// The subprotocols that a client offers.
    package var subprotocols: [String] {
        values(of: "Sec-WebSocket-Protocol").flatMap { $0.split(separator: ",") }
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
