import Foundation
import TestSupport
import Testing
import URLLoading

/// Asynchronous text sequences.
@Suite(.leavesNothing) struct TextSequenceTests {
    // T-58
    @Test("lines, scalars and characters of a body") func linesScalarsAndCharactersOfABody() async throws {
        let text = "one\r\n\r\ntwö\u{2028}👩‍👩‍👧‍👦\n\nlast"
        // Cut within CR LF, the ö, the separator, the family, and a member of it.
        let bytes = Array(text.utf8)
        let edges = [0, 4, 10, 12, 18, 25, bytes.count]
        let pieces = zip(edges, edges.dropFirst()).map { Array(bytes[$0..<$1]) }
        let server = try ScriptedServer.answering { request in
            request.path == "/" ? .text(text) : CannedResponse(body: .chunks(pieces, trailers: []))
        }
        defer { server.stop() }
        let session = URLSession { _ in }
        for path in ["/", "/pieces"] {
            var lines: [String] = []
            for try await line in try await session.bytes(from: server.url(path)).0.lines { lines.append(line) }
            #expect(lines == ["one", "twö", "👩‍👩‍👧‍👦", "last"])
            var scalars: [Unicode.Scalar] = []
            for try await scalar in try await session.bytes(from: server.url(path)).0.unicodeScalars {
                scalars.append(scalar)
            }
            #expect(scalars == Array(text.unicodeScalars))
            var characters: [Character] = []
            for try await character in try await session.bytes(from: server.url(path)).0.characters {
                characters.append(character)
            }
            #expect(characters == Array(text))
        }
        session.invalidateAndCancel()
    }

    // T-58: a line is there when its end is, not when the next begins
    @Test("a line does not wait for the next", arguments: ["\n", "\r", "\r\n", "\u{2029}"])
    func aLineDoesNotWaitForTheNext(
        end: String
    ) async throws {
        let taken = Signal("the first line")
        let server = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\none\(end)tw"), .wait(taken),
            .send("o\(end)"),
            .close,
        ])
        defer { server.stop() }
        let session = URLSession { _ in }
        var lines = try await session.bytes(from: server.url()).0.lines.makeAsyncIterator()
        #expect(try await lines.next() == "one")
        taken.fire()
        #expect(try await lines.next() == "two")
        #expect(try await lines.next() == nil)
        #expect(try await lines.next() == nil)
        session.invalidateAndCancel()
    }

    // T-38, T-58
    @Test("a failure replaces the truncated line and ends the sequence")
    func aFailureReplacesTheTruncatedLineAndEndsTheSequence() async throws {
        let server = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\none\ntw"), .close,
        ])
        defer { server.stop() }
        let session = URLSession { _ in }
        var lines = try await session.bytes(from: server.url()).0.lines.makeAsyncIterator()
        #expect(try await lines.next() == "one")
        let error = await #expect(throws: URLError.self) { try await lines.next() }
        #expect(error?.code == .networkConnectionLost)
        #expect(try await lines.next() == nil)
        session.invalidateAndCancel()
    }

    // T-65
    @Test("a reader of lines holds up the sender") func aReaderOfLinesHoldsUpTheSender() async throws {
        let row = String(repeating: "x", count: 999) + "\n"
        let rows = Array(String(repeating: row, count: 1_000).utf8)
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
            while true { try connection.send(rows) }
        }
        defer { server.stop() }
        let session = URLSession { _ in }
        do {
            var lines = try await session.bytes(from: server.url()).0.lines.makeAsyncIterator()
            #expect(try await lines.next()?.utf8.count == 999)
            let accepted = try await server.connection(0).waitUntilBlocked()
            #expect(accepted < 16_000_000)
            for _ in 0..<5_000 { #expect(try await lines.next()?.utf8.count == 999) }
        }
        // There is no reader any more: the load is cancelled.
        _ = try await server.connection(0).waitForEnd()
        session.invalidateAndCancel()
    }

    // Any sequence of bytes has these, not only a body.
    @Test("bytes from elsewhere") func bytesFromElsewhere() async {
        let bytes = AsyncStream<UInt8> { continuation in
            for byte in "one\n\ntwé\r\nthree".utf8 { continuation.yield(byte) }
            continuation.finish()
        }
        // No `try`: what cannot fail stays so.
        var lines: [String] = []
        for await line in bytes.lines { lines.append(line) }
        #expect(lines == ["one", "twé", "three"])
    }

    // A reader on an actor stays there between two lines.
    @MainActor @Test("reading on an actor") func readingOnAnActor() async throws {
        let server = try ScriptedServer.answering(.text("one\ntwo\n"))
        defer { server.stop() }
        let session = URLSession { _ in }
        var lines: [String] = []
        for try await line in try await session.bytes(from: server.url()).0.lines {
            MainActor.assertIsolated()
            lines.append(line)
        }
        #expect(lines == ["one", "two"])
        session.invalidateAndCancel()
    }

    // T-58
    @Test("the lines and bytes of a URL") func theLinesAndBytesOfAURL() async throws {
        let server = try ScriptedServer.answering { .text("one\n\ntwo", status: $0.path == "/" ? 200 : 404) }
        defer { server.stop() }
        let url = server.url()
        #expect(server.connectionCount == 0)
        var lines: [String] = []
        for try await line in url.lines { lines.append(line) }
        #expect(lines == ["one", "two"])
        var bytes: [UInt8] = []
        for try await byte in server.url("/absent").resourceBytes { bytes.append(byte) }
        #expect(bytes == Array("one\n\ntwo".utf8))
        // A reader may change over from bytes to more of them.
        var reader = url.resourceBytes.makeAsyncIterator()
        #expect(try await reader.next() == UInt8(ascii: "o"))
        await URLSession.shared.flush()
    }

    // T-58
    @Test("the lines of a URL that cannot be loaded") func theLinesOfAURLThatCannotBeLoaded() async throws {
        let url = try #require(URL(string: "gopher://127.0.0.1/"))
        var lines = url.lines.makeAsyncIterator()
        let error = await #expect(throws: URLError.self) { try await lines.next() }
        #expect(error?.code == .unsupportedURL)
    }
}
