import LoadingProtocols
import TestSupport
import Testing

@Suite("HTTP/2 bodies of requests")
struct HTTP2BodyTests {
    @Test("a body is read when its stream may send, and its last bytes have END_STREAM")
    func body() {
        let client = HTTP2Client.withRequests(0)
        client.writesSending = true
        client.submit("POST", body: [.bytes(5, isLast: false), .bytes(3, isLast: true)])
        #expect(client.takeFrameLines() == ["HEADERS 1", "DATA 1 5", "DATA 1 3 end"])
        #expect(
            client.takeLines().dropFirst() == ["1 sent body 5 14", "1 sent body 3 12", "1 sent"])
    }

    @Test("a body without bytes now is asked again after `resumeBody`")
    func later() {
        let client = HTTP2Client.withRequests(0)
        client.submit("POST", body: [.later, .bytes(0, isLast: false), .bytes(0, isLast: true)])
        #expect(client.takeFrameLines() == ["HEADERS 1"])
        client.session.resumeBody(of: 1)
        #expect(client.takeFrameLines() == [])
        client.session.resumeBody(of: 1)
        #expect(client.takeFrameLines() == ["DATA 1 0 end"])
        client.session.resumeBody(of: 1)
        client.session.resumeBody(of: 9)
        #expect(client.takeFrameLines() == [])
    }

    @Test("a body that fails resets its stream")
    func failed() {
        let client = HTTP2Client.withRequests(0)
        client.submit("POST", body: [.bytes(1, isLast: false), .failed])
        #expect(client.takeFrameLines() == ["HEADERS 1", "DATA 1 1", "RST_STREAM 1 8"])
        #expect(client.takeLines() == ["1 closed cancelled"])
    }

    // CONN-22
    @Test("no more is sent than the peer's windows allow")
    func windows() {
        let client = HTTP2Client.withRequests(0)
        client.receive(HTTP2Frames.settings([(4, 100)]))
        client.submit("POST", body: [.bytes(300, isLast: true)])
        #expect(client.takeFrameLines() == ["SETTINGS answer", "HEADERS 1", "DATA 1 100"])
        client.receive(HTTP2Frames.windowUpdate(1, 150))
        #expect(client.takeFrameLines() == ["DATA 1 150"])
        client.receive(HTTP2Frames.windowUpdate(1, 1_000))
        #expect(client.takeFrameLines() == ["DATA 1 50 end"])
    }

    // RFC 9113 §6.9.2
    @Test("a window that the peer makes smaller than what was sent is below nothing") func negativeWindow() {
        let client = HTTP2Client.withRequests(0)
        client.receive(HTTP2Frames.settings([(4, 100)]))
        client.submit("POST", body: [.bytes(300, isLast: true)])
        #expect(client.takeFrameLines() == ["SETTINGS answer", "HEADERS 1", "DATA 1 100"])
        client.receive(HTTP2Frames.settings([(4, 20)]) + HTTP2Frames.windowUpdate(1, 80))
        #expect(client.takeFrameLines() == ["SETTINGS answer"])
        client.receive(HTTP2Frames.windowUpdate(1, 10))
        #expect(client.takeFrameLines() == ["DATA 1 10"])
    }

    // RFC 7541 §4.2
    @Test("a peer that keeps no table gets fields that need none") func noTable() {
        let client = HTTP2Client.withRequests(0)
        client.receive(HTTP2Frames.settings([(1, 0)]))
        for _ in 0..<2 { client.submit(fields: [("A", String(repeating: "b", count: 50))]) }
        let blocks = client.takeFrames().filter { $0.type == 1 }.map(\.payload)
        // The change is said once. What is the same the second time is as long as the first time.
        #expect(blocks.map { $0.first == 0x20 } == [true, false])
        #expect(blocks[0].count == blocks[1].count + 1)
    }

    @Test("bodies of several streams take turns, a frame that fills a TLS record each")
    func turns() {
        let client = HTTP2Client.withRequests(0)
        client.receive(HTTP2Frames.windowUpdate(0, 1 << 20))
        client.receive(HTTP2Frames.settings([(4, 1 << 20)]))
        for _ in 0..<2 { client.submit("POST", body: [.bytes(65_536, isLast: true)]) }
        let data = client.takeFrames().filter { $0.type == 0 }
        #expect(data.map(\.payload.count) == Array(repeating: 16_384 - 9, count: 8) + [36, 36])
        #expect(data.map(\.stream) == [1, 3, 1, 3, 1, 3, 1, 3, 1, 3])
    }

    @Test("a response that comes before the body went out does not end the stream")
    func earlyResponse() {
        let client = HTTP2Client.withRequests(0)
        client.submit("POST", body: [.bytes(1, isLast: false), .later, .bytes(2, isLast: true)])
        _ = client.takeOutput()
        client.receive(HTTP2Frames.head(1, 200, ends: true))
        #expect(client.takeLines() == ["1 head 200 (22) end", "1 ended"])
        client.session.resumeBody(of: 1)
        #expect(client.takeFrameLines() == ["DATA 1 2 end"])
        #expect(client.takeLines() == ["1 closed"])
    }

    @Test("a server that has answered may reset the rest of the body with NO_ERROR")
    func answeredAndReset() {
        let client = HTTP2Client.withRequests(0)
        client.submit("POST", body: [.bytes(1, isLast: false)])
        _ = client.takeOutput()
        client.receive(HTTP2Frames.head(1, 413, ends: true) + HTTP2Frames.reset(1, 0))
        #expect(client.takeLines() == ["1 head 413 (22) end", "1 ended", "1 closed"])
    }

    @Test("output stays where it is, whatever else is called")
    func outputStays() throws {
        let client = HTTP2Client.withRequests(0)
        client.submit("POST", body: [.bytes(40_000, isLast: true)])
        let output = try #require(try client.session.nextOutput())
        let before = Array(output)
        client.submit()
        client.receive(HTTP2Frames.ping() + HTTP2Frames.windowUpdate(1, 9) + HTTP2Frames.head(1, 200))
        client.session.reset(1)
        #expect(Array(output) == before)
    }
}
