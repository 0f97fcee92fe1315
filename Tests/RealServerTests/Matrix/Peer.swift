import TestSupport
import Testing

/// A server under test: a product and an HTTP version.
struct Peer: Sendable, Hashable, CustomTestStringConvertible {
    enum Make: String, Sendable, CaseIterable {
        case nginx
        case apache = "Apache httpd"
        case nghttpx
        case caddy = "Caddy"
        case aioquic
        case gtlsserver
    }

    /// The raw values are the protocol names in metrics.
    enum Version: String, Sendable, CaseIterable {
        case http1 = "http/1.1"
        case http2 = "h2"
        case http3 = "h3"
    }

    let make: Make
    let version: Version

    var testDescription: String { "\(make.rawValue), \(version.rawValue)" }

    /// Whether all requests share one connection.
    var isShared: Bool { version != .http1 }
    /// The possible results of a dropped request: a status or an error code.
    var dropped: Set<String> {
        switch (make, version) {
        case (.nghttpx, _), (.apache, .http1): ["502"]
        case (.apache, _): ["500"]
        // Some builds of the same version answer 500 for the aborted handler, others reset the stream.
        case (.caddy, .http3): ["500", "-1005"]
        default: ["-1005"]
        }
    }

    /// The response body for a POST of `body`.
    func count(of body: [UInt8]) -> String { make == .gtlsserver ? "count" : "\(body.count)" }

    /// The peers that support a behaviour. Each make in each version is here or in the table of `UnsupportedCase`.
    static func supporting(_ behaviour: Behaviour) -> [Peer] {
        Make.allCases.flatMap { make in Version.allCases.map { Peer(make: make, version: $0) } }
            .filter { peer in !UnsupportedCase.all.contains { $0.covers(peer, behaviour) } }
    }
}
