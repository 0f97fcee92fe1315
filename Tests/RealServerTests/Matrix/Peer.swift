import TestSupport
import Testing

/// Whom the matrix runs against: a server of some make, in one version of HTTP.
struct Peer: Sendable, Hashable, CustomTestStringConvertible {
    enum Make: String, Sendable, CaseIterable {
        case nginx
        case apache = "Apache httpd"
        case nghttpx
        case caddy = "Caddy"
        case aioquic
        case gtlsserver
    }

    /// By the names that metrics have for them.
    enum Version: String, Sendable, CaseIterable {
        case http1 = "http/1.1"
        case http2 = "h2"
        case http3 = "h3"
    }

    let make: Make
    let version: Version

    var testDescription: String { "\(make.rawValue), \(version.rawValue)" }

    /// Whether all requests go over one connection.
    var isShared: Bool { version != .http1 }
    /// What a request may come to that it does not answer: its status, or the code of its error.
    var dropped: Set<String> {
        switch (make, version) {
        case (.nghttpx, _), (.apache, .http1): ["502"]
        case (.apache, _): ["500"]
        // Of one version there are builds that answer for the handler that gave up, and others that reset the stream.
        case (.caddy, .http3): ["500", "-1005"]
        default: ["-1005"]
        }
    }

    /// What is answered to somebody who has posted this.
    func count(of body: [UInt8]) -> String { make == .gtlsserver ? "count" : "\(body.count)" }

    /// Who shows this, of all there are: each make in each version is here or in the table of `Gap`.
    static func supporting(_ behaviour: Behaviour) -> [Peer] {
        Make.allCases.flatMap { make in Version.allCases.map { Peer(make: make, version: $0) } }
            .filter { peer in !UnsupportedCase.all.contains { $0.covers(peer, behaviour) } }
    }
}
