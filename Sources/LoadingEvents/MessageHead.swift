/// The head of a request or a response as it went over the wire, for programs that show it.
package struct MessageHead: Sendable, Equatable, Codable {
    package enum Start: Sendable, Equatable, Codable {
        case request(method: String, target: String)
        case response(status: Int)
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
    /// In the order of the wire. Where the wire has `:authority`, `host` stands for it.
    package var fields: [Field]
    /// Of a head between the client and a proxy that makes a tunnel, which is no part of the load's own exchange: the same
    /// number for a request and its response, and no other in this process. Several tunnels may be made at once.
    package var tunnelRound: UInt64?

    package var isOfTunnel: Bool { tunnelRound != nil }

    package init(_ start: Start, version: String, fields: [Field]) {
        self.start = start
        self.version = version
        self.fields = fields
    }

    /// The name of a version as heads show it, by the name of ALPN.
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
