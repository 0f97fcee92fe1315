/// The head of a request or response as on the wire, for display.
package struct MessageHead: Sendable, Equatable, Codable {
    package enum Start: Sendable, Equatable, Codable {
        case request(method: String, target: String)
        /// The reason phrase is empty if there is none, as in HTTP/2 and HTTP/3.
        case response(status: Int, reason: String = "")
    }

    package struct Field: Sendable, Equatable, Codable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var start: Start
    /// `HTTP/1.0`, `HTTP/1.1`, `HTTP/2` or `HTTP/3`.
    package var version: String
    /// In the order on the wire. `:authority` is shown as `host`.
    package var fields: [Field]
    /// Set for a CONNECT request and its response, which are not part of the load's exchange. Both have the same
    /// number, which is unique in the process, because several tunnels may be created at once.
    package var tunnelRound: UInt64?

    package var isOfTunnel: Bool { tunnelRound != nil }

    package init(_ start: Start, version: String, fields: [Field]) {
        self.start = start
        self.version = version
        self.fields = fields
    }

    /// The version as it is displayed, for an ALPN protocol identifier.
    package static func version(ofProtocol name: String) -> String {
        switch name {
        case "h2": "HTTP/2"
        case "h3": "HTTP/3"
        case "http/1.0": "HTTP/1.0"
        case "http/1.1": "HTTP/1.1"
        default: name
        }
    }
}
