import Foundation
import TestSupport
import Testing
import URLLoading

/// Responses that arrive in pieces of which nothing can be made before the next one has come.
@Suite(.leavesNothing) struct SlowResponseTests {
    // CONN-15: each arrival ends the silence
    @Test(
        "pieces of a head, of a chunk's size, and of a trailer",
        arguments: [
            ["HTTP/1.1 200", " OK\r\nContent-", "Length: ", "5", "\r\n", "\r\n", "hello"],
            [
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5", ";a", "=", "b", "c", "\r",
                "\nhello\r\n0\r\n\r\n",
            ],
            [
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", "A", ": ", "b", "\r\n",
                "\r", "\n",
            ],
        ])
    func piecesOfResponse(pieces: [String]) async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            for piece in pieces {
                try connection.send(piece)
                // In all longer than the request may be idle.
                try? Signal("nothing").wait(within: .milliseconds(300))
            }
            try connection.waitForClose()
        }
        defer { server.stop() }
        let session = URLSession { $0.timeoutIntervalForRequest = 1.2 }
        defer { session.invalidateAndCancel() }
        let (data, _) = try await session.data(from: server.url("/"))
        #expect(String(decoding: data, as: UTF8.self) == "hello")
    }

    // CONN-15
    @Test("a server that stops within a head") func aServerThatStopsWithinAHead() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            try connection.send("HTTP/1.1 200 OK\r\nContent-")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let session = URLSession { $0.timeoutIntervalForRequest = 0.5 }
        defer { session.invalidateAndCancel() }
        let error = await #expect(throws: URLError.self) { try await session.data(from: server.url("/")) }
        #expect(error?.code == .timedOut)
    }
}
