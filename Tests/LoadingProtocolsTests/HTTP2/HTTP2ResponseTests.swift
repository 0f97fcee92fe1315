import LoadingProtocols
import LoadingSemantics
import TestSupport
import Testing

private typealias F = HTTP2Frames

@Suite("HTTP/2 responses")
struct HTTP2ResponseTests {
    /// The events of the input, when it comes whole, byte by byte, and cut anywhere.
    private func lines(_ bytes: [UInt8], requests: Int = 2, method: String = "GET") -> [String] {
        let whole = HTTP2Client.withRequests(requests, method: method)
        whole.receive(bytes)
        let sent = whole.takeFrameLines()
        let lines = whole.takeLines()
        for seed in 0..<8 {
            var random = PatternRandom(seed: UInt64(seed))
            let client = HTTP2Client.withRequests(requests, method: method)
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = seed == 0 ? 1 : min(rest.count, 1 + random.next(below: 20))
                client.receive(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
                if client.lines.last?.hasPrefix("error") == true { break }
            }
            #expect(client.takeFrameLines() == sent, "cut by \(seed)")
            // How much of a body that becomes too long is delivered depends on where it is cut.
            let isTooLong = lines.contains { $0.hasPrefix("1 closed malformed") }
            #expect(
                client.takeLines().filter { !isTooLong || !$0.hasPrefix("1 body") }
                    == lines.filter { !isTooLong || !$0.hasPrefix("1 body") }, "cut by \(seed)")
        }
        return lines
    }

    // S-6, S-9
    @Test("responses come in any order, and each has its end")
    func plain() {
        let bytes =
            F.head(3, 200, [("a", "b"), ("c", "d")]) + F.head(1, 204, ends: true) + F.data(3, "hello ")
            + F.data(3, "world", ends: true)
        #expect(
            lines(bytes) == [
                "3 head 200 (32) | a=b | c=d", "1 head 204 (22) end", "1 ended", "1 closed", "3 body hello world",
                "3 ended", "3 closed",
            ])
    }

    // CONN-23
    @Test("interim responses are reported, trailers are read and dropped")
    func interimAndTrailers() {
        let bytes =
            F.head(1, 103, [("link", "x")]) + F.head(1, 200) + F.data(1, "a")
            + F.headers(1, F.block([("t", "u")]), ends: true)
        #expect(lines(bytes).map { $0.prefix(10) } == ["1 interim ", "1 head 200", "1 body a", "1 ended", "1 closed"])
    }

    @Test("a head may come in several frames")
    func continued() {
        let block = F.block([(":status", "200"), ("a", "b")])
        let bytes =
            F.headers(1, Array(block.prefix(3)), ends: true, whole: false)
            + F.continuation(1, Array(block[3..<9]), whole: false) + F.continuation(1, Array(block[9...]))
        #expect(lines(bytes) == ["1 head 200 (\(block.count + 27)) | a=b end", "1 ended", "1 closed"])
    }

    @Test("a head may come in many frames, each in pieces")
    func continuedOften() {
        let block = F.block([(":status", "200"), ("a", "b")])
        var bytes = F.headers(1, [], ends: true, whole: false)
        for octet in block { bytes += F.continuation(1, [octet], whole: false) }
        bytes += F.continuation(1, [])
        #expect(lines(bytes).first == "1 head 200 (\(block.count + 9 * (block.count + 2))) | a=b end")
    }

    @Test("padding, priorities, unknown frames and unknown settings are stepped over")
    func steppedOver() {
        let padded = [3] + F.block([(":status", "200")]) + [0, 0, 0]
        let prioritised = [0, 0, 0, 0, 7] + F.block([(":status", "201")])
        let bytes =
            F.settings([(0x99, 5)]) + F.frame(0x77, flags: 0xFF, stream: 1, [1, 2, 3])
            + F.frame(1, flags: 4 | 8, stream: 1, padded) + F.frame(0, flags: 1 | 8, stream: 1, [2, 0x78, 0, 0])
            + F.frame(1, flags: 1 | 4 | 0x20, stream: 3, prioritised) + F.frame(2, stream: 1, [0, 0, 0, 3, 1])
        #expect(
            lines(bytes) == [
                "settings", "1 head 200 (26)", "1 body x", "1 ended", "1 closed", "3 head 201 (27) end", "3 ended",
                "3 closed",
            ])
    }

    @Test("a HEAD's response has a length and no body")
    func head() {
        #expect(
            lines(F.head(1, 200, [("content-length", "5")], ends: true), method: "HEAD").last == "1 closed")
    }

    // RFC 9113 §5.4.2, §8.1.1
    @Test("white space around a value resets the stream for that reason, whatever it ends") func whiteSpace() {
        for ends in [true, false] {
            let client = HTTP2Client.withRequests(1)
            client.receive(F.head(1, 200, [("a", "b ")], ends: ends))
            #expect(client.takeFrameLines() == ["RST_STREAM 1 1"])
            #expect(
                client.takeLines() == ["1 closed malformed(\"The value of a field begins or ends with white space.\")"])
        }
        // Also of an interim response, before another one, and of trailers.
        let interim = F.head(1, 103, [("link", "\t</a>")]) + F.head(1, 200, ends: true)
        let trailers = F.head(1, 200) + F.data(1, "x") + F.headers(1, F.block([("a", " ")]), ends: true)
        for bytes in [interim, trailers] {
            #expect(
                lines(bytes, requests: 1).last
                    == "1 closed malformed(\"The value of a field begins or ends with white space.\")")
        }
        // Within a value it stays.
        #expect(lines(F.head(1, 200, [("a", "b \t c")], ends: true)).first?.hasSuffix("| a=b \t c end") == true)
    }

    @Test("names of fields in the order and spelling in which they came, with values that servers do send")
    func values() {
        let block = F.block([(":status", "200")]) + F.field(Array("a".utf8), [0x01, 0xFF]) + F.field([0x62], [])
        #expect(lines(F.headers(1, block, ends: true)).first?.hasSuffix("| a=\u{1}ÿ | b= end") == true)
    }

    // MARK: Short

    // CONN-27, MET-10: the bytes on the wire count, too
    @Test(
        "a body that ends before its length resets its stream, and says so",
        arguments: [
            ([F.data(1, "to", ends: true)], "to", 11), ([F.data(1, "to"), F.data(1, "", ends: true)], "to", 20),
            ([F.data(1, "t"), F.data(1, "o"), F.headers(1, F.block([("a", "b")]), ends: true)], "to", 20),
        ])
    func short(frames: [[UInt8]], body: String, count: Int) {
        let bytes = F.head(1, 200, [("content-length", "3")]) + frames.flatMap(\.self)
        for cut in [1, 5, 1_000] {
            let client = HTTP2Client.withRequests(2)
            var counts: [Int] = []
            client.reaction = { client, line in
                if line == "1 closed truncated" { counts.append(client.session.receivedBodyFrameBytes(on: 1)) }
            }
            for start in stride(from: 0, to: bytes.count, by: cut) {
                client.receive(Array(bytes[start..<min(start + cut, bytes.count)]))
            }
            #expect(client.takeFrameLines() == ["RST_STREAM 1 1"])
            client.receive(F.head(3, 204, ends: true))
            #expect(
                client.takeLines() == [
                    "1 head 200 (40) | content-length=3", "1 body \(body)", "1 closed truncated", "3 head 204 (22) end",
                    "3 ended", "3 closed",
                ])
            #expect(counts == [count])
        }
    }

    // CONN-27
    @Test("a head with END_STREAM, of a response that announces a body")
    func shortByAll() {
        let received = lines(F.head(1, 200, [("content-length", "3")], ends: true))
        #expect(received == ["1 head 200 (40) | content-length=3", "1 closed truncated"])
        #expect(HTTPStreamFailure.truncated.progress == .answered)
    }

    // MET-10
    @Test("what has come of a body that breaks off is counted", arguments: [true, false])
    func brokenOff(isReset: Bool) {
        let client = HTTP2Client.withRequests(1)
        var counts: [Int] = []
        client.reaction = { client, line in
            if line.contains("closed") { counts.append(client.session.receivedBodyFrameBytes(on: 1)) }
        }
        // A whole frame, with its padding, and half of one.
        client.receive(F.head(1, 200) + F.frame(0, flags: 8, stream: 1, [3, 0x78, 0, 0, 0]))
        client.receive(Array(F.data(1, "four").prefix(11)))
        #expect(client.session.receivedBodyFrameBytes(on: 1) == 14 + 11)
        if isReset { client.session.reset(1) } else { client.session.fail() }
        _ = client.takeOutput()
        #expect(counts == [25])
    }

    // MARK: Malformed

    /// A response that breaks a rule ends its stream alone.
    @Test(
        "what is no response resets its stream, and the other goes on",
        arguments: [
            F.head(1, 200) + F.head(1, 200),
            F.head(1, 200, [("content-length", "3")]) + F.data(1, "four"),
            F.head(1, 200, [("content-length", "3"), ("content-length", "4")]),
            F.head(1, 200, [("content-length", "x")]),
            // CONN-27
            F.head(1, 200, [("content-length", "30,")]),
            F.head(1, 200, [("content-length", ",30")]),
            F.head(1, 100, ends: true),
            F.head(1, 101),
            F.headers(1, F.block([("a", "b")])),
            F.headers(1, F.block([(":status", "20")])),
            F.headers(1, F.block([(":status", "abc")])),
            F.headers(1, F.block([(":status", "000")])),
            F.headers(1, F.block([(":status", "099")])),
            F.headers(1, F.block([(":status", "200"), (":status", "200")])),
            F.headers(1, F.block([("a", "b"), (":status", "200")])),
            F.headers(1, F.block([(":status", "200"), (":path", "/")])),
            F.headers(1, F.block([(":status", "200"), (":x", "y")])),
            F.head(1, 200, [("Upper", "x")]),
            F.head(1, 200, [("connection", "close")]),
            F.head(1, 200, [("transfer-encoding", "chunked")]),
            F.head(1, 200, [("keep-alive", "x")]),
            F.head(1, 200, [("upgrade", "x")]),
            F.head(1, 200, [("proxy-connection", "x")]),
            F.head(1, 200, [("a b", "x")]),
            F.head(1, 200, [("", "x")]),
            F.head(1, 200, [("a", "b\0c")]),
            F.head(1, 200, [("a", "b\r\nc: d")]),
            // CONN-28: RFC 9113 §8.2.1
            F.head(1, 200, [("a", " b")]),
            F.head(1, 200, [("a", "b ")]),
            F.head(1, 200, [("a", "\tb")]),
            F.head(1, 200, [("a", "b\t")], ends: true),
            F.head(1, 200, [("a", " ")]),
            F.head(1, 200, [("content-length", "3 ")]) + F.data(1, "one", ends: true),
            F.head(1, 103, [("link", " </a>")]) + F.head(1, 204, ends: true),
            F.head(1, 200) + F.headers(1, F.block([("a", "b ")]), ends: true),
            F.head(1, 200) + F.headers(1, F.block([(":status", "200")]), ends: true),
        ])
    func malformed(bytes: [UInt8]) {
        let lines = lines(bytes + F.head(3, 204, ends: true))
        #expect(lines.contains { $0.hasPrefix("1 closed malformed") })
        #expect(lines.filter { $0.hasPrefix("3") } == ["3 head 204 (22) end", "3 ended", "3 closed"])
        #expect(!lines.contains { $0 == "1 ended" || $0.hasPrefix("error") })
    }

    /// The code that is sent to the peer.
    @Test(
        "what is no HTTP/2 ends the connection",
        arguments: [
            (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), 6),
            (F.frame(0, stream: 0, [1]), 1),
            (F.head(2, 200), 1),
            (F.head(9, 200), 1),
            (F.data(9, "x"), 1),
            (F.data(1, "early"), 1),
            (F.frame(5, flags: 4, stream: 1, F.octets(2) + F.block([(":method", "GET")])), 1),
            (F.headers(1, [0x80]), 9),
            (F.headers(1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]), 9),
            (F.headers(1, F.block([(":status", "200")]), whole: false) + F.ping(), 1),
            (F.continuation(1, []), 1),
            (F.settings([(2, 1)]), 1),
            (F.settings([(4, 0xFFFF_FFFF)]), 3),
            (F.settings([(5, 1)]), 1),
            (F.frame(4, [1]), 6),
            (F.settingsAnswer, 1),
            (F.ping([1]), 6),
            (F.windowUpdate(0, 0), 1),
            (F.windowUpdate(0, 0x7FFF_FFFF), 3),
            (F.frame(3, stream: 1, [0]), 6),
            (F.reset(9, 0), 1),
            (F.frame(7, [0]), 6),
        ] as [([UInt8], UInt32)])
    func broken(bytes: [UInt8], code: UInt32) {
        let client = HTTP2Client.withRequests(1)
        client.receive(bytes + F.head(1, 200, ends: true))
        let sent = client.takeFrameLines()
        let lines = client.takeLines()
        #expect(lines.contains { $0.hasPrefix("error violation") }, "\(lines)")
        #expect(!lines.contains { $0.hasPrefix("1 ended") })
        #expect(sent.last == "GOAWAY \(code)", "\(sent)")
        client.receive(F.ping())
        #expect(client.takeLines().count == 1)
        #expect(client.takeFrameLines() == [])
        #expect(client.session.isFinished)
        client.session.fail()
        #expect(client.takeLines().map { $0.prefix(25) } == ["1 closed connectionLost(a"])
        #expect(client.session.openStreamCount == 0)
    }

    @Test("the first frame of a server has to be its settings")
    func noSettings() {
        let client = HTTP2Client()
        client.receive(F.ping())
        #expect(client.takeLines().first?.hasPrefix("error violation") == true)
    }
}
