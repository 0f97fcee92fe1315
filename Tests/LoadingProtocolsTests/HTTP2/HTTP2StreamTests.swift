import LoadingProtocols
import LoadingSemantics
import TestSupport
import Testing

private typealias F = HTTP2Frames

@Suite("HTTP/2 streams and how they end")
struct HTTP2StreamTests {
    private func closed(_ bytes: [UInt8], requests: Int = 1) -> [String] {
        let client = HTTP2Client.withRequests(requests)
        client.receive(bytes)
        _ = client.takeOutput()
        return client.takeLines().filter { $0.contains("closed") }
    }

    // CONN-4
    @Test("a stream that the server has refused was not looked at")
    func refused() {
        #expect(closed(F.reset(1, 7)) == ["1 closed refused"])
        #expect(HTTPStreamFailure.refused.progress == .refused)
        #expect(HTTPStreamFailure.http11Required.progress == .refused)
    }

    // CONN-4
    @Test("a GOAWAY refuses what lies above its last stream, and lets the rest end")
    func goAway() {
        let client = HTTP2Client.withRequests(3)
        client.receive(F.goAway(3) + F.head(3, 200, ends: true))
        #expect(
            client.takeLines() == [
                "going away after 3 with 0", "5 closed refused", "3 head 200 (22) end", "3 ended", "3 closed",
            ])
        #expect(client.session.isGoingAway && !client.session.mayOpenStream && !client.session.isFinished)
        client.submit()
        #expect(client.takeLines() == ["refused to submit: notAllowed"])
        client.receive(F.head(1, 204, ends: true))
        _ = client.takeOutput()
        #expect(client.session.isFinished && client.session.openStreamCount == 0)
    }

    // CONN-4
    @Test("a request whose head had not gone out when the GOAWAY came is refused as well")
    func goAwayBeforeSending() {
        let client = HTTP2Client.withRequests(0)
        client.submit()
        client.receive(F.goAway(0))
        #expect(client.takeFrameLines() == [])
        #expect(client.takeLines() == ["going away after 0 with 0", "1 closed refused"])
    }

    // CONN-4: nghttp2 would keep what is beyond the limit until another stream ends
    @Test("requests that had not gone out, and are too many by then, are refused at once")
    func limitBeforeSending() {
        let client = HTTP2Client()
        for _ in 0..<3 { client.submit() }
        client.receive(F.settings([(3, 1)]))
        #expect(client.takeLines() == ["3 closed refused", "5 closed refused", "settings"])
        #expect(client.takeFrameLines().filter { $0.hasPrefix("HEADERS") } == ["HEADERS 1 end"])
        client.receive(F.goAway(0))
        #expect(client.takeLines() == ["going away after 0 with 0", "1 closed refused"])
    }

    // CONN-4
    @Test(
        "requests that wait at a limit get a GOAWAY, or their end, at once", arguments: [true, false])
    func heldBack(isReset: Bool) {
        let client = HTTP2Client.withRequests(1)
        client.receive(F.settings([(3, 1)]))
        client.submit()
        #expect(client.takeFrameLines() == ["SETTINGS answer"])
        _ = client.takeLines()
        guard isReset else {
            client.receive(F.goAway(1))
            #expect(client.takeLines() == ["going away after 1 with 0", "3 closed refused"])
            return
        }
        client.session.reset(3)
        #expect(client.takeLines() == ["3 closed cancelled"])
        // The next stream has its slot, and its own end.
        client.submit()
        client.receive(F.head(1, 204, ends: true))
        #expect(client.takeFrameLines() == ["HEADERS 5 end"])
        client.receive(F.head(5, 204, ends: true))
        #expect(
            client.takeLines() == [
                "1 head 204 (22) end", "1 ended", "1 closed", "5 head 204 (22) end", "5 ended", "5 closed",
            ])
        #expect(client.session.openStreamCount == 0)
    }

    // CONN-18: a server may not look at what comes behind a GOAWAY
    @Test("requests go out before the word that there are no more") func goAwayAfterRequests() {
        let client = HTTP2Client.withRequests(0)
        for _ in 0..<2 { client.submit() }
        client.session.goAway()
        client.submit()
        #expect(client.takeLines() == ["refused to submit: notAllowed"])
        #expect(client.takeFrameLines() == ["HEADERS 1 end", "HEADERS 3 end", "GOAWAY 0"])
        client.receive(F.head(1, 204, ends: true) + F.head(3, 204, ends: true))
        #expect(client.session.isFinished)
    }

    // CONN-4
    @Test("a GOAWAY in the place of the settings, however it is cut", arguments: [1, 8, 9, 10, 100])
    func goAwayFirst(cut: Int) {
        let client = HTTP2Client()
        for _ in 0..<2 { client.submit() }
        _ = client.takeOutput()
        let bytes = F.goAway(0)
        for start in stride(from: 0, to: bytes.count, by: cut) {
            client.receive(Array(bytes[start..<min(start + cut, bytes.count)]))
        }
        #expect(
            client.takeLines() == ["settings", "going away after 0 with 0", "3 closed refused", "1 closed refused"])
        #expect(client.session.isGoingAway)
        client.submit()
        #expect(client.takeLines() == ["refused to submit: notAllowed"])
        // Anything else is no beginning.
        let other = HTTP2Client()
        other.receive(F.ping())
        #expect(other.takeLines().first?.hasPrefix("error violation") == true)
    }

    // CONN-4
    @Test("two GOAWAYs, the second with the true last stream")
    func goAwayTwice() {
        let client = HTTP2Client.withRequests(2)
        client.receive(F.goAway(0x7FFF_FFFF))
        #expect(client.takeLines() == ["going away after 2147483647 with 0"])
        client.receive(F.goAway(1, 11, "too much"))
        #expect(client.takeLines() == ["going away after 1 with 11", "3 closed refused"])
    }

    // AUTH-19
    @Test("a server may want HTTP/1.1")
    func http11() {
        #expect(closed(F.reset(1, 13)) == ["1 closed http11Required"])
    }

    // CONN-4, CONN-10
    @Test("a reset reports the progress of the request")
    func resets() {
        #expect(closed(F.reset(1, 2)) == ["1 closed \(HTTPStreamFailure.reset(code: 2, after: .sent))"])
        #expect(
            closed(F.head(1, 103) + F.reset(1, 7))
                == ["1 closed \(HTTPStreamFailure.reset(code: 7, after: .answered))"])
        #expect(
            closed(F.head(1, 200) + F.reset(1, 8))
                == ["1 closed \(HTTPStreamFailure.reset(code: 8, after: .answered))"])
        #expect(
            closed(F.head(1, 200) + F.reset(1, 0)) == [
                "1 closed \(HTTPStreamFailure.reset(code: 0, after: .answered))"
            ])
    }

    // CONN-10
    @Test("a lost connection reports the progress of each request")
    func lost() {
        let client = HTTP2Client.withRequests(2)
        client.receive(F.head(1, 200))
        client.submit()
        client.session.fail()
        #expect(
            client.takeLines().dropFirst() == [
                "1 closed \(HTTPStreamFailure.connectionLost(after: .answered))",
                "3 closed \(HTTPStreamFailure.connectionLost(after: .sent))",
                "5 closed \(HTTPStreamFailure.connectionLost(after: .unsent))",
            ])
        client.receive(F.ping())
        client.submit()
        client.session.fail()
        #expect(client.takeLines() == ["error closed", "refused to submit: notAllowed"])
        #expect(client.takeFrameLines() == [])
    }

    @Test("a stream that is reset here reports only its end")
    func cancelled() {
        let client = HTTP2Client.withRequests(2)
        client.receive(F.head(1, 200))
        client.session.reset(1)
        client.receive(F.data(1, "late") + F.data(1, "later", ends: true))
        #expect(client.takeFrameLines() == ["RST_STREAM 1 8"])
        #expect(client.takeLines() == ["1 head 200 (22)", "1 closed cancelled"])
        client.session.reset(1)
        client.session.reset(99)
        client.session.consumed(5, on: 1)
        #expect(client.takeFrameLines() == [])
        #expect(client.session.openStreamCount == 1)
    }

    @Test("a stream that is reset before its head went out costs nothing")
    func cancelledUnsent() {
        let client = HTTP2Client.withRequests(0)
        client.submit()
        client.submit()
        client.session.reset(1)
        #expect(client.takeFrameLines() == ["HEADERS 3 end"])
        #expect(client.takeLines() == ["1 closed cancelled"])
    }

    @Test("a stream may be reset, and another submitted, from inside an event")
    func reentered() {
        let client = HTTP2Client.withRequests(2)
        client.reaction = { client, line in
            switch line {
            case "1 head 200 (22)": client.session.reset(1)
            case "3 closed":
                client.submit()
                client.receive(F.ping())
                #expect(client.takeFrameLines() == [])
            default: break
            }
        }
        client.receive(F.head(1, 200) + F.data(1, "x") + F.head(3, 204, ends: true) + F.ping())
        #expect(client.takeFrameLines() == ["PING answer", "RST_STREAM 1 8", "HEADERS 5 end"])
        #expect(
            client.takeLines() == [
                "1 head 200 (22)", "3 head 204 (22) end", "3 ended", "3 closed", "error reentered",
                "1 closed cancelled",
            ])
    }

    @Test("a session may be failed, and released, from inside an event")
    func failedInside() {
        let client = HTTP2Client.withRequests(2)
        client.reaction = { client, line in
            if line.hasPrefix("1 head") { client.session.fail() }
        }
        client.receive(F.head(1, 200) + F.data(1, "x") + F.head(3, 204, ends: true))
        #expect(
            client.takeLines() == [
                "1 head 200 (22)", "1 closed \(HTTPStreamFailure.connectionLost(after: .answered))",
                "3 closed \(HTTPStreamFailure.connectionLost(after: .sent))",
            ])
        #expect(client.takeFrameLines() == [])
    }

    @Test("streams wait until the peer allows one more")
    func concurrency() {
        let client = HTTP2Client.withRequests(0)
        #expect(client.session.maximumConcurrentStreams > 1_000)
        client.receive(F.settings([(3, 1), (8, 1)]))
        #expect(client.takeLines() == ["settings"])
        #expect(client.session.maximumConcurrentStreams == 1 && client.session.allowsExtendedConnect)
        #expect(client.session.mayOpenStream)
        client.submit()
        #expect(!client.session.mayOpenStream)
        client.submit()
        #expect(client.takeFrameLines() == ["SETTINGS answer", "HEADERS 1 end"])
        client.receive(F.head(1, 204, ends: true))
        #expect(client.takeFrameLines() == ["HEADERS 3 end"])
    }

    @Test("before the peer's settings a hundred streams may be open")
    func beforeSettings() {
        #expect(HTTP2Client().session.maximumConcurrentStreams == 100)
    }

    @Test("pings are answered by both ends")
    func pings() {
        let client = HTTP2Client.withRequests(0)
        client.session.ping(0x0102_0304_0506_0708)
        #expect(client.takeFrames().map(\.payload) == [[1, 2, 3, 4, 5, 6, 7, 8]])
        client.receive(F.ping(answer: true) + F.ping())
        #expect(client.takeLines() == ["ping answered \(0x0102_0304_0506_0708)"])
        #expect(client.takeFrameLines() == ["PING answer"])
    }

    @Test("a session after GOAWAY runs to its end")
    func leaving() {
        let client = HTTP2Client.withRequests(1)
        client.session.goAway()
        client.session.goAway()
        #expect(client.takeFrameLines() == ["GOAWAY 0"])
        #expect(client.session.isGoingAway && !client.session.isFinished)
        client.submit()
        client.receive(F.head(1, 204, ends: true))
        #expect(client.takeLines() == ["refused to submit: notAllowed", "1 head 204 (22) end", "1 ended", "1 closed"])
        _ = client.takeOutput()
        #expect(client.session.isFinished)
    }

    // T-19
    @Test("a new urgency is sent to a peer that supports priorities")
    func priority() {
        let client = HTTP2Client.withRequests(1)
        client.session.setPriority(urgency: 1, isIncremental: true, of: 1)
        client.session.setPriority(urgency: 1, isIncremental: true, of: 9)
        #expect(client.takeFrameLines() == [])
        let listening = HTTP2Client()
        listening.receive(F.settings([(9, 1)]) + F.settingsAnswer)
        listening.submit()
        _ = listening.takeOutput()
        listening.session.setPriority(urgency: 9, isIncremental: true, of: 1)
        #expect(listening.takeFrames().map { String(decoding: $0.payload.dropFirst(4), as: UTF8.self) } == ["u=7, i"])
    }
}
