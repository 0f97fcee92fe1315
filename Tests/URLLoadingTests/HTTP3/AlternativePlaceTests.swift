import Foundation
import TestSupport
import Testing
import URLLoading

/// Where a session tries an advertised HTTP/3 service: a silent port records whether a client has connected.
@Suite(.needsHTTP3, .leavesNothing) struct AlternativePlaceTests {
    enum Place: CaseIterable {
        /// Another port of the same host.
        case ownHost
        case otherHost
    }

    enum Routing: CaseIterable {
        case direct
        /// There is a proxy, for other hosts than the server.
        case beside
        /// There is a proxy, and it leads to the server.
        case through
    }

    /// Advertises an HTTP/3 service at `place` in each response.
    private func server(naming place: Place, at port: Int) throws -> ScriptedServer {
        let field = "h3=\"\(place == .ownHost ? "" : "127.0.0.1"):\(port)\"; ma=60"
        return try ScriptedServer.answering(tls: TrustedAuthority.server()) { request in
            var response = CannedResponse.text(request.target).with(field: "Alt-Svc", field)
            // Each request chooses its route anew; HTTP3UpgradeTests has kept connections.
            response.keepsAlive = false
            return response
        }
    }

    // CONN-6, C-17: another host may be one that is to be reached through the proxy, which QUIC is not
    @Test("an endpoint that a response has named", arguments: Place.allCases, Routing.allCases)
    func named(place: Place, routing: Routing) async throws {
        let datagrams = try SilentDatagramPort()
        defer { datagrams.close() }
        let server = try server(naming: place, at: datagrams.port)
        defer { server.stop() }
        let authProxy = try ScriptedProxy(to: server) { _ in .status(200) }
        defer { authProxy.stop() }
        let session = URLSession {
            $0.urlCache = nil
            $0.connectionProxyDictionary =
                switch routing {
                case .direct: [:]
                case .beside: authProxy.settings(["ExceptionsList": ["<-loopback>", "localhost"]])
                case .through: authProxy.settings()
                }
        }
        defer { session.invalidateAndCancel() }
        for path in ["/1", "/2", "/3"] {
            #expect(try await session.text(server.url(path, host: "localhost")) == path)
        }
        let isTried = routing == .direct || routing == .beside && place == .ownHost
        #expect(datagrams.hasReceived == isTried)
        #expect(
            authProxy.server.requests.map(\.method)
                == [String](repeating: "CONNECT", count: routing == .through ? 3 : 0))
    }
}
