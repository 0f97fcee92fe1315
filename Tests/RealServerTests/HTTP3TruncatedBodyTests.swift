import Foundation
import TestSupport
import Testing
import URLLoading

@Suite(.needsHTTP3, .needs(.aioquic)) struct HTTP3TruncatedBodyTests {
    // CONN-27, MET-10: as over the other versions
    @Test(
        "a body that is shorter than announced is lost, and the connection goes on",
        arguments: ["/short", "/broken"])
    func short(path: String) async throws {
        let server = try AioquicServer(
            files: ["small": Array("small".utf8)], authority: TrustedAuthority.authority)
        defer { server.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            var request = URLRequest(url: server.secureURL(path))
            request.assumesHTTP3Capable = true
            let (bytes, response) = try await session.bytes(for: request)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            var count = 0
            let error = await #expect(throws: URLError.self) { for try await _ in bytes { count += 1 } }
            #expect(error?.code == .networkConnectionLost)
            request.url = server.secureURL("/small")
            #expect(String(decoding: try await session.data(for: request).0, as: UTF8.self) == "small")
            let transactions = try await metrics.transactions.waitFor(count: 2)
            #expect(transactions.map(\.networkProtocolName) == ["h3", "h3"])
            #expect(transactions.map(\.isReusedConnection) == [false, true])
            // The frame has a head of three bytes.
            if path == "/short" {
                #expect(count == 1000)
                #expect(transactions.first?.countOfResponseBodyBytesReceived == 1003)
            }
        }
    }
}
