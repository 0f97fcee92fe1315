import TestSupport

/// A behaviour that a server does not support, and why.
struct UnsupportedCase: Sendable {
    let make: Peer.Make
    let versions: [Peer.Version]
    let behaviours: [Behaviour]
    let reason: String

    init(
        _ make: Peer.Make, _ versions: [Peer.Version] = Peer.Version.allCases,
        _ behaviours: [Behaviour] = Behaviour.allCases, because reason: String
    ) {
        self.make = make
        self.versions = versions
        self.behaviours = behaviours
        self.reason = reason
    }

    func covers(_ peer: Peer, _ behaviour: Behaviour) -> Bool {
        make == peer.make && versions.contains(peer.version) && behaviours.contains(behaviour)
    }

    static let all: [UnsupportedCase] =
        [
            UnsupportedCase(.nginx, [.http3], because: "supports HTTP/3 from 1.25 on; Debian 12 has 1.22"),
            UnsupportedCase(.apache, [.http3], because: "does not support HTTP/3"),
            UnsupportedCase(
                .apache, [.http1], [.trailers], because: "passes trailers on over HTTP/2 alone, and has no others"),
            UnsupportedCase(
                .nghttpx, [.http3], because: "supports HTTP/3 if built with ngtcp2, which Debian's is not"),
            UnsupportedCase(.caddy, [.http3], [.trailers], because: "2.6 sends none over HTTP/3"),
            UnsupportedCase(.aioquic, [.http1, .http2], because: "supports HTTP/3 only"),
            UnsupportedCase(.gtlsserver, [.http1, .http2], because: "supports HTTP/3 only"),
            UnsupportedCase(
                .caddy, [.http3], [.stream],
                because: "2.6 passes no body on over HTTP/3 whose length was not announced"),
            UnsupportedCase(
                .caddy, [.http3], [.challenge],
                because: "2.6 ends the connection on a field that is never to be indexed (RFC 9204, 4.5.4)"),
            UnsupportedCase(
                .gtlsserver, [.http3], [.redirect, .statuses, .challenge],
                because: "serves only files"),
            UnsupportedCase(.gtlsserver, [.http3], [.empty], because: "treats an empty file as missing"),
            UnsupportedCase(
                .gtlsserver, [.http3], [.reset, .breakingOff], because: "resets no stream of its own accord"),
            UnsupportedCase(
                .caddy, [.http3], [.restart, .restartInLoad],
                because: "2.6 sends no GOAWAY over HTTP/3: it ends as in a crash"),
            UnsupportedCase(
                .gtlsserver, [.http3], [.restart], because: "sends no GOAWAY: a signal ends it as a crash does"),
            UnsupportedCase(
                .gtlsserver, [.http3], [.restartInLoad, .crashInLoad],
                because: "has no response that is under way until it is awaited"),
        ] + withoutHTTP3

    /// Without the trait `HTTP3` no server supports HTTP/3.
    private static var withoutHTTP3: [UnsupportedCase] {
        if HTTP3Build.isAvailable { return [] }
        return Peer.Make.allCases.map {
            UnsupportedCase($0, [.http3], because: "the package is built without HTTP/3")
        }
    }
}
