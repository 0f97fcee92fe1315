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

    enum Way: CaseIterable {
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
            // Each request looks for its way anew; kept connections give way in HTTP3UpgradeTests.
            response.keepsAlive = false
            return response
        }
    }

    // CONN-6, C-17: another host may be one that is to be reached through the proxy, which QUIC is not
    @Test("a place that a response has named", arguments: Place.allCases, Way.allCases)
    func named(place: Place, way: Way) async throws {
        let datagrams = try SilentDatagramPort()
        defer { datagrams.close() }
        let server = try server(naming: place, at: datagrams.port)
        defer { server.stop() }
        let authProxy = try ScriptedProxy(to: server) { _ in .status(200) }
        defer { authProxy.stop() }
        let session = URLSession {
            $0.urlCache = nil
            $0.connectionProxyDictionary =
                switch way {
                case .direct: [:]
                case .beside: authProxy.settings(["ExceptionsList": ["<-loopback>", "localhost"]])
                case .through: authProxy.settings()
                }
        }
        defer { session.invalidateAndCancel() }
        for path in ["/1", "/2", "/3"] {
            #expect(try await session.text(server.url(path, host: "localhost")) == path)
        }
        let isTried = way == .direct || way == .beside && place == .ownHost
        #expect(datagrams.hasHeard == isTried)
        #expect(
            authProxy.server.requests.map(\.method)
                == [String](repeating: "CONNECT", count: way == .through ? 3 : 0))
    }
}
