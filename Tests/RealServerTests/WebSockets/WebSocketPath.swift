import TestSupport
import Testing

/// A way from a WebSocket task to a server that shares no code with this project.
struct WebSocketPath: Sendable, CustomTestStringConvertible {
    enum Version: String, Sendable, CaseIterable {
        case http1 = "HTTP/1.1"
        case http2 = "HTTP/2"
        case http3 = "HTTP/3"

        /// As metrics name it.
        var protocolName: String {
            switch self {
            case .http1: "http/1.1"
            case .http2: "h2"
            case .http3: "h3"
            }
        }
    }

    enum Route: String, Sendable, CaseIterable {
        case direct
        case connect = "through squid"
        case socks = "through dante"

        var part: ServerFarm.Part? {
            switch self {
            case .direct: nil
            case .connect: .squid
            case .socks: .danted
            }
        }
    }

    enum Server: Sendable, Hashable {
        case packaged(WebSocketServer.Make)
        case aioquic

        var name: String {
            switch self {
            case .packaged(let make): make.rawValue
            case .aioquic: "aioquic"
            }
        }

        var part: ServerFarm.Part {
            switch self {
            case .packaged(let make): make.part
            case .aioquic: .aioquic
            }
        }

        /// The version of HTTP that it serves WebSockets over.
        var version: Version {
            switch self {
            case .packaged(.nodeHTTP2): .http2
            case .packaged: .http1
            case .aioquic: .http3
            }
        }

        /// Whether it agrees to compress messages.
        var compresses: Bool {
            switch self {
            case .packaged(.python), .packaged(.node), .packaged(.nodeHTTP2), .aioquic: true
            case .packaged(.libwebsockets), .packaged(.websocketd): false
            }
        }
    }

    let server: Server
    let isSecure: Bool
    let route: Route
    var isCompressed = false

    var version: Version { server.version }

    var testDescription: String {
        "\(version.rawValue), \(server.name)\(isSecure ? " with TLS" : ""), \(route.rawValue)"
            + (isCompressed ? ", compressed" : "")
    }

    // MARK: The table

    private static let servers: [Server] =
        [.python, .node, .libwebsockets, .websocketd, .nodeHTTP2].map(Server.packaged) + [.aioquic]

    static let all: [WebSocketPath] = servers.flatMap { server in
        [false, true].flatMap { isSecure in
            Route.allCases.flatMap { route in
                let path = WebSocketPath(server: server, isSecure: isSecure, route: route)
                if ImpossiblePath.all.contains(where: { $0.covers(path.version, isSecure, route) }) {
                    return [WebSocketPath]()
                }
                // Compression is the same on each route.
                let isAlsoCompressed = server.compresses && route == .direct && isSecure == (server.version != .http1)
                return [path] + (isAlsoCompressed ? [path.with { $0.isCompressed = true }] : [])
            }
        }
    }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    /// What is missing on this machine.
    var missing: ServerFarm.Missing? { server.part.missing ?? route.part?.missing }

    func can(_ behaviour: Behaviour) -> Bool {
        !WebSocketGap.all.contains { $0.server == server && $0.behaviours.contains(behaviour) }
    }

    /// Whether it is tried with messages that take their time: each server has them directly, and each combination of
    /// version, transport and route with one server.
    var hasLargeMessages: Bool {
        let isOnlyOne = version != .http1 || server == .packaged(.python)
        return can(.large) && (route == .direct || isOnlyOne)
    }

    enum Behaviour: Sendable, CaseIterable {
        /// Echoes of each size, whole and in fragments of the client.
        case text
        case binary
        /// An echo of a message comes as one message.
        case wholeMessages
        /// Messages of 16 MiB.
        case large
        case fragmentsOfServer
        /// The close frame of the client comes back with its code, or also with its reason.
        case confirmsCode
        case confirmsReason
        case closes
        /// The connection ends without a close frame.
        case drops
    }
}

/// Combinations of a version, a transport and a route that cannot exist.
struct ImpossiblePath: Sendable {
    let version: WebSocketPath.Version
    let isSecure: [Bool]
    let routes: [WebSocketPath.Route]
    let reason: String

    func covers(_ version: WebSocketPath.Version, _ isSecure: Bool, _ route: WebSocketPath.Route) -> Bool {
        self.version == version && self.isSecure.contains(isSecure) && routes.contains(route)
    }

    static let all: [ImpossiblePath] =
        [
            ImpossiblePath(
                version: .http2, isSecure: [false], routes: WebSocketPath.Route.allCases,
                reason: "HTTP/2 is negotiated in TLS; RFC 9113 §3.1 has no upgrade to it any more"),
            ImpossiblePath(
                version: .http3, isSecure: [false], routes: WebSocketPath.Route.allCases,
                reason: "QUIC is always encrypted (RFC 9001)"),
            ImpossiblePath(
                version: .http3, isSecure: [true], routes: [.connect, .socks],
                reason: "CONNECT and SOCKS, as the proxies know them, carry TCP, so no QUIC is tried through them"),
        ] + withoutHTTP3

    private static var withoutHTTP3: [ImpossiblePath] {
        HTTP3Build.isAvailable
            ? []
            : [
                ImpossiblePath(
                    version: .http3, isSecure: [true], routes: [.direct], reason: "the package is built without HTTP/3")
            ]
    }
}

/// What a server does not do, and why.
struct WebSocketGap: Sendable {
    let server: WebSocketPath.Server
    let behaviours: [WebSocketPath.Behaviour]
    let reason: String

    static let all: [WebSocketGap] = [
        WebSocketGap(
            server: .packaged(.python), behaviours: [.drops], reason: "the package always sends a close frame"),
        WebSocketGap(
            server: .packaged(.libwebsockets),
            behaviours: [.binary, .wholeMessages, .large, .fragmentsOfServer, .closes, .drops],
            reason: "its mirror sends everything back as texts of up to 4 KiB from a small ring buffer"),
        WebSocketGap(
            server: .packaged(.websocketd), behaviours: [.binary, .fragmentsOfServer, .closes],
            reason: "it has lines of text, and ends the connection with the program"),
        WebSocketGap(
            server: .packaged(.websocketd), behaviours: [.confirmsReason],
            reason: "its library sends the code back, without the reason"),
    ]
}
