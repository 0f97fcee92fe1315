import Foundation
import TestSupport
import Testing
import URLLoading

/// WebSocket tasks against servers that share no code with this project: each version of HTTP, with TLS and without,
/// directly and through proxies.
@Suite(.webSocketFarm, .serialized, .timeLimit(.minutes(5))) struct WebSocketMatrixTests {
    // WS-2: each combination has a server, or a reason
    @Test("no combination is forgotten") func noCombinationIsForgotten() {
        for version in WebSocketPath.Version.allCases {
            for isSecure in [false, true] {
                for route in WebSocketPath.Route.allCases {
                    let reasons = ImpossiblePath.all.filter { $0.covers(version, isSecure, route) }
                    let isServed = WebSocketPath.all.contains {
                        $0.version == version && $0.isSecure == isSecure && $0.route == route
                    }
                    #expect(reasons.count == (isServed ? 0 : 1), "\(version) \(isSecure) \(route)")
                }
            }
        }
    }

    // WS-2, WS-6..WS-11, WS-13, PROXY-5, PROXY-7: the same of each path
    @Test("each path", arguments: WebSocketPath.all) func eachPath(path: WebSocketPath) async throws {
        if let missing = path.missing { return try missing.allowSkipping() }
        let farm = try #require(WebSocketFarmTrait.farm)
        let run = try await WebSocketPathRun(path, in: farm)
        try await run.echoes()
        if path.hasLargeMessages { try await run.largeEcho() }
        if path.can(.fragmentsOfServer) { try await run.fragmentsOfServer() }
        try await run.clientCloses()
        if path.can(.closes) { try await run.serverCloses() }
        if path.can(.drops) { try await run.drops() }
        try await run.end()
    }

    // WS-9: in both directions
    @Test("a hundred pings", .needs(.websockets)) func pings() async throws {
        let path = WebSocketPath(server: .packaged(.python), isSecure: false, route: .direct)
        let run = try await WebSocketPathRun(path, in: try #require(WebSocketFarmTrait.farm))
        let task = try run.open("/pings/100")
        for _ in 0..<100 { try await task.ping() }
        #expect(try await task.receive().message == .text("100"))
        task.cancel()
        try await run.end()
    }

    // WS-1, WS-3
    @Test("a subprotocol", .needs(.websockets), arguments: [false, true]) func subprotocol(isSecure: Bool) async throws
    {
        let path = WebSocketPath(server: .packaged(.python), isSecure: isSecure, route: .direct)
        let run = try await WebSocketPathRun(path, in: try #require(WebSocketFarmTrait.farm))
        let task = try run.open("/subprotocol", subprotocols: ["other", "superchat"])
        #expect(try await task.receive().message == .text("superchat"))
        task.cancel()
        try await run.end()
    }

    // WS-4: another request of the same server
    @Test("a server that wants an upgrade", .needs(.websockets), arguments: [false, true])
    func upgradeRequired(isSecure: Bool) async throws {
        let path = WebSocketPath(server: .packaged(.python), isSecure: isSecure, route: .direct)
        let farm = try #require(WebSocketFarmTrait.farm)
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let text = try farm.address(of: path).url.absoluteString.replacingOccurrences(of: "ws", with: "http")
        let (_, response) = try await session.data(from: try #require(URL(string: text)))
        #expect((response as? HTTPURLResponse)?.statusCode == 426)
    }
}
