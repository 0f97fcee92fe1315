import Foundation
import TestSupport
import Testing
import URLLoading

/// HTTP/3 servers that take few requests on each connection.
@Suite(.needsHTTP3, .needs(.aioquic), .timeLimit(.minutes(1))) struct HTTP3RequestLimitTests {
    private func load(_ count: Int, from server: RequestLimitServer, in session: URLSession) async throws {
        var request = URLRequest(url: try #require(URL(string: "https://localhost:\(server.port)/")))
        request.assumesHTTP3Capable = true
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<count {
                group.addTask { [request] in String(decoding: try await session.data(for: request).0, as: UTF8.self) }
            }
            for try await text in group { #expect(text == "h3") }
        }
    }

    // CONN-4: after the first GOAWAY no request is sent that the server would refuse
    @Test("a limit is learned") func learned() async throws {
        let server = try RequestLimitServer([5], TrustedAuthority.authority)
        defer { server.stop() }
        try await TransactionRecorder.record { session, _ async throws in
            try await load(12, from: server, in: session)
            let refused = server.count("refused")
            try await load(20, from: server, in: session)
            #expect(server.count("refused") == refused)
            #expect(server.count("request") == 32)
        }
    }

    // CONN-4: the first server was only about to be restarted
    @Test("a limit that does not last is forgotten") func forgotten() async throws {
        let server = try RequestLimitServer([5, 0], TrustedAuthority.authority)
        defer { server.stop() }
        try await TransactionRecorder.record { session, _ async throws in
            try await load(12, from: server, in: session)
            try await load(20, from: server, in: session)
            let connections = server.count("connection")
            try await load(40, from: server, in: session)
            // With the limit these would need eight. One may still have been made with it.
            #expect(server.count("connection") <= connections + 2)
            #expect(server.count("request") == 72)
        }
    }

    // CONN-4: the same, while responses arrive that take long
    @Test("a limit that does not last is forgotten before the responses end") func forgottenEarly() async throws {
        let server = try RequestLimitServer([5, 0], TrustedAuthority.authority)
        defer { server.stop() }
        try await TransactionRecorder.record { session, _ async throws in
            try await load(5, from: server, in: session)
            let connections = server.count("connection")
            var request = URLRequest(url: try #require(URL(string: "https://localhost:\(server.port)/held")))
            request.assumesHTTP3Capable = true
            var responses: [URLSession.AsyncBytes] = []
            for _ in 0..<40 { responses.append(try await session.bytes(for: request).0) }
            // With the limit these would need eight. Some may still have been made with it.
            #expect(server.count("connection") <= connections + 3)
            withExtendedLifetime(responses) {}
        }
    }
}
