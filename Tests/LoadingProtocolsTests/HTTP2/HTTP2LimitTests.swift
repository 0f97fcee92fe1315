import LoadingProtocols
import TestSupport
import Testing

private typealias F = HTTP2Frames

/// What a hostile server can make a session hold or do.
@Suite("HTTP/2 limits")
struct HTTP2LimitTests {
    /// Feeds as much as it takes, and says how much that was. The output is taken each time, as an honest caller does.
    private func flood(
        _ client: HTTP2Client, with bytes: [UInt8], atMost count: Int = 100_000, takesOutput: Bool = true
    ) -> Int {
        for index in 0..<count {
            client.receive(bytes)
            if client.lines.last?.hasPrefix("error") == true { return index }
            if takesOutput { _ = client.takeOutput() }
        }
        return count
    }

    private func error(_ client: HTTP2Client) -> String? { client.takeLines().last { $0.hasPrefix("error") } }

    @Test(
        "frames that bring no request further",
        arguments: [
            F.ping(), F.ping(answer: true), F.settings(), F.settings([(4, 65_535)]), F.windowUpdate(0, 1),
            F.windowUpdate(1, 1), F.data(1, ""), F.frame(2, stream: 1, [0, 0, 0, 3, 1]), F.frame(0x77, stream: 1),
            F.frame(0, flags: 8, stream: 99, [0]), F.frame(0, flags: 8, stream: 1, [0]), F.goAway(0x7FFF_FFFF),
            F.head(1, 104),
        ])
    func idle(frame: [UInt8]) {
        let client = HTTP2Client.withRequests(1)
        client.receive(F.head(1, frame == F.head(1, 104) ? 103 : 200))
        let count = flood(client, with: frame)
        #expect(count < 12_000)
        let error = error(client)
        // DATA for a stream that never was is a mistake by itself.
        #expect(error == "error \(HTTP2Error.flood(.idleFrames))" || count == 0, "\(error ?? "")")
        #expect(client.takeFrameLines().last?.hasPrefix("GOAWAY") == true)
    }

    @Test("endless data of a cancelled stream", arguments: [F.data(1, "x"), F.data(1, "", ends: true)])
    func unwanted(frame: [UInt8]) {
        let client = HTTP2Client.withRequests(1)
        client.receive(F.head(1, 200))
        client.session.reset(1)
        _ = client.takeOutput()
        let count = flood(client, with: frame)
        #expect(count < 12_000)
        #expect(error(client) == "error \(HTTP2Error.flood(.idleFrames))")
    }

    // S-42: what the window let the server send before it got the reset
    @Test("data that is on its way when it is cancelled is no flood") func cancelled() {
        let client = HTTP2Client.withRequests(0)
        for index in 0..<20 {
            client.submit()
            _ = client.takeOutput()
            let stream = Int64(2 * index + 1)
            client.receive(F.head(stream, 200))
            client.session.reset(stream)
            _ = client.takeOutput()
            let frame = F.data(stream, [0])
            client.receive(Array(repeatElement(frame, count: 1_024).joined()))
            _ = client.takeOutput()
        }
        #expect(error(client) == nil)
    }

    @Test("the same frames beside real work are no flood")
    func work() {
        let client = HTTP2Client.withRequests(0)
        for index in 0..<5_000 {
            client.submit()
            _ = client.takeOutput()
            let stream = Int64(2 * index + 1)
            client.receive(F.ping() + F.settings() + F.windowUpdate(0, 1))
            client.receive(F.head(stream, 200) + F.data(stream, "x") + F.data(stream, "", ends: true))
        }
        #expect(error(client) == nil)
    }

    // Some servers open both windows whenever their program has read something, however little
    @Test("an upload whose windows are opened little by little is no flood", arguments: [4_096, 1_024, 64])
    func uploads(step: Int) {
        let client = HTTP2Client.withRequests(0)
        client.submit("POST", body: [.bytes(1 << 40, isLast: true)])
        let updates = F.windowUpdate(0, UInt32(step)) + F.windowUpdate(1, UInt32(step))
        var (sent, opened) = (0, 0)
        while sent < step << 14 {
            let count = client.takeFrames().filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count }
            guard count > 0 else { break }
            sent += count
            let steps = (sent - opened) / step
            opened += steps * step
            client.receive(Array(repeatElement(updates, count: steps).joined()))
        }
        #expect(error(client) == nil)
        #expect(sent >= step << 14)
    }

    @Test("windows that are opened by nothing are a flood beside an upload too") func emptyUpdates() {
        let client = HTTP2Client.withRequests(0)
        client.submit("POST", body: [.bytes(1 << 40, isLast: true)])
        _ = client.takeOutput()
        let updates = F.windowUpdate(0, 1) + F.windowUpdate(1, 1)
        #expect(flood(client, with: Array(repeatElement(updates, count: 100).joined())) < 400)
        #expect(error(client) == "error \(HTTP2Error.flood(.idleFrames))")
    }

    @Test("acknowledgements that the peer does not read")
    func unsentAnswers() {
        for frame in [F.ping(), F.settings()] {
            let client = HTTP2Client.withRequests(1)
            #expect(flood(client, with: frame, takesOutput: false) < 1_100)
            #expect(error(client) == "error \(HTTP2Error.flood(.unsentAnswers))")
        }
    }

    @Test("a block in frames without end, with and without octets in them")
    func continuations() {
        for block in [[], [0, 1, 0x61, 1, 0x62]] as [[UInt8]] {
            let client = HTTP2Client.withRequests(1)
            client.receive(F.headers(1, F.block([(":status", "200")]), whole: false))
            #expect(flood(client, with: F.continuation(1, block, whole: false)) < 100)
            #expect(error(client) == "error \(HTTP2Error.flood(.headerBlock))")
        }
    }

    @Test("a block that is too long on the wire")
    func longBlock() {
        let client = HTTP2Client.withRequests(1)
        client.receive(F.headers(1, F.block([(":status", "200")]), whole: false))
        let field = F.field(Array("a".utf8), Array(repeating: 0x62, count: 16_000))
        #expect(flood(client, with: F.continuation(1, field, whole: false)) == 16)
        #expect(error(client) == "error \(HTTP2Error.flood(.headerBlock))")
    }

    @Test("too many fields, or too long ones, end their stream")
    func section() {
        let limits = HTTPStreamLimits(maximumHeadLength: 1_000, maximumFieldCount: 3)
        let many = (0..<4).map { ("a\($0)", "b") }
        let status = F.block([(":status", "200")])
        // 62 is the newest field of the table.
        let long = status + F.indexedField("a", String(repeating: "b", count: 600)) + [0x80 | 62]
        for block in [status + F.block(many), long] {
            let client = HTTP2Client.withRequests(2, limits: limits)
            client.receive(F.headers(1, block, ends: block == long) + F.head(3, 200, ends: true))
            _ = client.takeOutput()
            #expect(
                client.takeLines().sorted() == [
                    "1 closed malformed(\"The fields are too many or too long.\")", "3 closed", "3 ended",
                    "3 head 200 (22) end",
                ])
        }
        let client = HTTP2Client.withRequests(1, limits: limits)
        client.receive(F.head(1, 200, Array(many.dropFirst()), ends: true))
        #expect(client.takeLines().last == "1 closed")
    }

    @Test("a small block that becomes a huge one")
    func bomb() {
        let client = HTTP2Client.withRequests(1)
        let large = F.indexedField("a", String(repeating: "b", count: 4_000))
        // 62 is the newest field of the table.
        let block = F.block([(":status", "200")]) + large + Array(repeating: 0x80 | 62, count: 10_000)
        client.receive(F.headers(1, block, ends: true))
        #expect(error(client) == "error \(HTTP2Error.flood(.headerList))")
    }

    @Test("interim responses without end")
    func interim() {
        let client = HTTP2Client.withRequests(1)
        for _ in 0..<32 { client.receive(F.head(1, 103)) }
        #expect(client.takeLines().count == 32)
        client.receive(F.head(1, 103))
        #expect(client.takeFrameLines() == ["RST_STREAM 1 11"])
        #expect(client.takeLines() == ["1 closed malformed(\"There are too many interim responses.\")"])
    }

    // RES-14
    @Test("reports of an upload's progress are delivered beyond that")
    func progress() {
        let client = HTTP2Client.withRequests(1)
        for _ in 0..<1_000 { client.receive(F.head(1, 104)) }
        #expect(client.takeLines().count == 1_000)
    }

    // MET-18
    @Test("a push is a mistake")
    func push() {
        let client = HTTP2Client.withRequests(1)
        client.receive(F.frame(5, flags: 4, stream: 1, F.octets(2) + F.block([(":method", "GET"), (":path", "/")])))
        #expect(error(client)?.hasPrefix("error violation") == true)
    }

    @Test("frames that are too long")
    func longFrame() {
        let client = HTTP2Client.withRequests(1)
        client.receive(Array(F.data(1, Array(repeating: 0, count: 16_385)).prefix(9)))
        #expect(error(client)?.hasPrefix("error violation") == true)
        #expect(client.takeFrameLines() == ["GOAWAY 6"])
    }

    @Test("reset streams are gone")
    func resets() {
        let client = HTTP2Client.withRequests(0)
        for index in 0..<20_000 {
            client.submit()
            _ = client.takeOutput()
            client.receive(F.reset(Int64(2 * index + 1), 8))
        }
        #expect(error(client) == nil)
        #expect(client.session.openStreamCount == 0)
    }
}
