import Foundation
import TestSupport
import Testing
import URLLoading

/// The DNS cache of a session. Each test has its own network with a DNS server.
@Suite(.inNetworkNamespace, .needsNetworkNamespace, .needsNameServer, .timeLimit(.minutes(1))) struct NameCacheTests {
    /// The A queries while `body` loads from a server with one request per connection.
    private func asked(_ body: (URL) async throws -> Void) async throws -> [String] {
        try NetworkNamespace.raiseLoopback()
        let names = try NameServer { $0.type == .ipv4 ? .address([127, 0, 0, 1]) : .nothing }
        defer { names.stop() }
        let server = try ScriptedServer.answering { _ in CannedResponse.text("x").with(field: "Connection", "close") }
        defer { server.stop() }
        try await body(server.url("/", host: "a.example"))
        return names.questions.filter { $0.type == .ipv4 }.map(\.name)
    }

    private func session() -> URLSession { URLSession { $0.urlCache = nil } }

    // CONN-9, CONN-20
    @Test("a session asks once, and another one asks itself") func apart() async throws {
        let asked = try await asked { url async throws in
            for _ in 0..<2 {
                let session = session()
                for _ in 0..<3 { #expect(try await session.text(url) == "x") }
                session.invalidateAndCancel()
            }
        }
        #expect(asked == ["a.example", "a.example"])
    }

    // CONN-18, S-88
    @Test("a session that is flushed asks again, and no other does") func flushed() async throws {
        let asked = try await asked { url async throws in
            let sessions = [session(), session()]
            for session in sessions { #expect(try await session.text(url) == "x") }
            await sessions[0].flush()
            for session in sessions { #expect(try await session.text(url) == "x") }
            for session in sessions { session.invalidateAndCancel() }
        }
        #expect(asked.count == 3)
    }
}
