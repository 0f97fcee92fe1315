import Foundation
import TestSupport
import Testing
import URLLoading

/// Content-coded bodies that are truncated, corrupt, unknown, or decompression bombs.
@Suite(.leavesNothing) struct HostileCodingTests {
    /// Serves a body in a coding to one request.
    private func callbacks(_ coding: String, _ body: [UInt8]) async throws -> [RecordedEvent] {
        let server = try ScriptedServer.answering(CannedResponse.bytes(body).with(field: "Content-Encoding", coding))
        defer { server.stop() }
        return try await LoadRecorder.load(server.url())
    }

    // ENC-10
    @Test("a truncated coded body", arguments: [1, 9, 12, 15, 18, 20, 24, 27])
    func aTruncatedCodedBody(cut: Int) async throws {
        let recorded = try await callbacks("gzip", Array(CodedBodies.gzip("hello").prefix(cut)))
        #expect(recorded.first == .response(200))
        #expect("hello".utf8.starts(with: recorded.body))
        #expect(recorded.suffix(2) == [.failed(.networkConnectionLost), .invalid])
    }

    // ENC-10
    @Test(
        "a body whose coding is corrupt",
        arguments: [
            ("gzip", Array("hello, this is not coded at all".utf8)),
            ("gzip", CodedBodies.gzip("hello").replacing(at: 0, with: 0)),
            ("gzip", CodedBodies.gzip("hello").replacing(at: 2, with: 7)),
            ("gzip", CodedBodies.gzip("hello").replacing(at: 10, with: 7)),
            ("gzip", CodedBodies.gzip("hello").replacing(at: 11, with: 6)),
            ("gzip", CodedBodies.gzip("hello").replacing(at: 20, with: 1)),
            ("gzip", CodedBodies.gzip("hello").replacing(at: 24, with: 6)),
            ("deflate", CodedBodies.zlib("hello").replacing(at: 13, with: 1)),
            ("br", [0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
            ("zstd", Array("hello, this is not coded at all".utf8)),
        ])
    func aCorruptCodedBody(coding: String, body: [UInt8]) async throws {
        let recorded = try await callbacks(coding, body)
        #expect(recorded.suffix(2) == [.failed(.cannotDecodeRawData), .invalid])
    }

    // ERR-7: the body may be what it should be; its coding is none that is undone
    @Test("too many content codings") func tooManyContentCodings() async throws {
        #expect(
            try await callbacks("gzip, gzip, gzip, gzip, gzip, gzip", CodedBodies.gzip("hello")) == [
                .failed(.cannotDecodeContentData), .invalid,
            ])
    }

    // ENC-4
    @Test(
        "a coding that is unknown is left alone",
        arguments: ["upper", "gzip, upper", "upper, gzip", "identity", "", ",", "compress", "gzip;q=1"])
    func aCodingThatIsUnknownIsLeftAlone(coding: String) async throws {
        let body = CodedBodies.gzip("hello")
        #expect(try await callbacks(coding, body) == [.response(200), .data(body), .succeeded, .invalid])
    }

    // ENC-9
    @Test("a bomb is unfolded in little memory") func aBombIsUnfoldedInLittleMemory() async throws {
        let parts = 2_048
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nConnection: close\r\n\r\n")
            try connection.send(CodedBodies.bombHead)
            for _ in 0..<parts { try connection.send(CodedBodies.bombPart) }
            try connection.send(CodedBodies.bombEnd(parts: parts))
            connection.close()
        }
        defer { server.stop() }
        let before = Memory.resident
        let most = Watched(0)
        let count = Watched(0)
        let recorder = LoadRecorder { length in
            count.withValue { $0 += length }
            most.withValue { $0 = max($0, Memory.resident) }
        }
        #expect(
            try await recorder.run(URLRequest(url: server.url()), within: .seconds(120))
                == [.response(200), .succeeded, .invalid])
        #expect(count.current == parts * CodedBodies.bombPartLength)
        #expect(most.current - before < Memory.limit(48 << 20))
    }

    // ENC-9, CONN-22: a reader that stops stops the server too
    @Test("a bomb without end waits for its reader") func aBombWithoutEndWaitsForItsReader() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nConnection: close\r\n\r\n")
            try connection.send(CodedBodies.bombHead)
            let parts = (0..<64).flatMap { _ in CodedBodies.bombPart }
            while true { try connection.send(parts) }
        }
        defer { server.stop() }
        let goOn = Signal("the reader to go on")
        let before = Memory.resident
        let recorder = LoadRecorder { _ in try? goOn.wait(within: .seconds(60)) }
        let task = recorder.start(URLRequest(url: server.url()))
        try await server.connection(0).waitUntilBlocked(within: .seconds(60))
        #expect(Memory.resident - before < Memory.limit(48 << 20))
        task.cancel()
        goOn.fire()
        #expect(try await recorder.finish() == [.response(200), .failed(.cancelled), .invalid])
    }

    // ENC-9, T-5: a collected body is decoded in steps
    @Test("a bomb in a bomb can be cancelled") func aBombInABombCanBeCancelled() async throws {
        let copies = 8_000
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: deflate, deflate\r\n\r\n")
            try connection.send(CodedBodies.bombInABomb(copies: copies))
            try connection.waitForClose()
        }
        defer { server.stop() }
        try await URLSession.using { session in
            let calls = EventRecorder<Call>()
            let task = session.dataTask(with: server.url(), completionHandler: calls.handler)
            task.resume()
            // No event reports counters, so this polls them.
            let end = ContinuousClock.now + .testDeadline
            while task.countOfBytesReceived == 0, ContinuousClock.now < end { await Task.yield() }
            task.cancel()
            let recorded = try await calls.waitFor(count: 1)
            #expect(recorded == [.handled(nil, 200, .cancelled)])
            let whole = copies * 258 / CodedBodies.bombPart.count * CodedBodies.bombPartLength
            #expect(task.countOfBytesReceived < whole / 2)
        }
    }
}

extension [UInt8] {
    /// A copy with one changed byte.
    fileprivate func replacing(at index: Int, with byte: UInt8) -> [UInt8] {
        var copy = self
        copy[index] = byte
        return copy
    }
}
