import Foundation
import TestSupport
import Testing
import URLLoading

/// Responses that exceed limits.
@Suite(.leavesNothing) struct OversizedResponseTests {
    /// Sends head and body for one request, as far as the client reads.
    private func callbacks(_ response: [UInt8]) async throws -> [RecordedEvent] {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send(response)
            try connection.waitForClose()
        }
        defer { server.stop() }
        return try await LoadRecorder.load(server.url())
    }

    // ERR-7
    @Test("a field line of a megabyte") func aFieldLineOfAMegabyte() async throws {
        let line = "X: " + String(repeating: "x", count: 1 << 20)
        #expect(
            try await callbacks(Array("HTTP/1.1 200 OK\r\n\(line)\r\nContent-Length: 0\r\n\r\n".utf8))
                == [.failed(.cannotParseResponse), .invalid])
    }

    // ERR-7
    @Test("a field line without end") func aFieldLineWithoutEnd() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nX: ")
            while true { try connection.send([UInt8](repeating: 120, count: 65_536)) }
        }
        defer { server.stop() }
        #expect(try await LoadRecorder.load(server.url()) == [.failed(.cannotParseResponse), .invalid])
    }

    // ERR-7
    @Test("a status line without end") func aStatusLineWithoutEnd() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 ")
            while true { try connection.send([UInt8](repeating: 120, count: 65_536)) }
        }
        defer { server.stop() }
        #expect(try await LoadRecorder.load(server.url()) == [.failed(.cannotParseResponse), .invalid])
    }

    // ERR-7
    @Test("a hundred thousand fields") func aHundredThousandFields() async throws {
        let fields = (0..<100_000).map { "X-\($0): \($0)\r\n" }.joined()
        #expect(
            try await callbacks(Array("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n".utf8))
                == [.failed(.cannotParseResponse), .invalid])
    }

    // ERR-7: small ones, within the limit of bytes
    @Test("many small fields") func manySmallFields() async throws {
        let fields = String(repeating: "a:\r\n", count: 10_000)
        #expect(
            try await callbacks(Array("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n".utf8))
                == [.failed(.cannotParseResponse), .invalid])
    }

    // T-54, ERR-7
    @Test("interim responses without end") func interimResponsesWithoutEnd() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            while true { try connection.send("HTTP/1.1 102 Processing\r\n\r\n") }
        }
        defer { server.stop() }
        let recorded = try await LoadRecorder.load(server.url())
        #expect(recorded.drop { $0 == .informational(102) } == [.failed(.cannotParseResponse), .invalid])
        #expect(recorded.count < 100)
    }

    // CONN-23
    @Test("trailers without end") func trailersWithoutEnd() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n")
            while true { try connection.send("X: y\r\n") }
        }
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(server.url())
                == [.response(200), .data("hello"), .failed(.cannotParseResponse), .invalid])
    }

    // MISC-8: what is large and still sensible
    @Test("large fields and many fields within the limits") func largeFieldsAndManyFieldsWithinTheLimits() async throws
    {
        let long = String(repeating: "v", count: 200_000)
        let server = try ScriptedServer.answering { request in
            request.path == "/long"
                ? .text("ok").with(field: "x-long", long)
                : (0..<1_900).reduce(.text("ok")) { $0.with(field: "x-\($1)", "\($1)") }
        }
        defer { server.stop() }
        try await URLSession.using { session in
            let (_, first) = try await session.data(from: server.url("/long"))
            #expect((first as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Long") == long)
            let (_, second) = try await session.data(from: server.url("/many"))
            let all = (second as? HTTPURLResponse)?.allHeaderFields ?? [:]
            #expect((0..<1_900).allSatisfy { all["x-\($0)"] as? String == "\($0)" })
        }
    }
}
