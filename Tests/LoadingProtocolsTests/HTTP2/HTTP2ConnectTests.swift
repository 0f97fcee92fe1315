import LoadingProtocols
import TestSupport
import Testing

private typealias F = HTTP2Frames

/// Tunnels over HTTP/2: RFC 8441, and RFC 9113 §8.5.
@Suite("CONNECT over HTTP/2")
struct HTTP2ConnectTests {
    // WS-2: RFC 8441 §3
    @Test("a server that has allowed extended CONNECT may not take that back", arguments: [0, 2] as [UInt32])
    func settings(second: UInt32) {
        let client = HTTP2Client.withRequests(0)
        #expect(!client.session.allowsExtendedConnect)
        client.receive(F.settings([(8, 1)]))
        #expect(client.session.allowsExtendedConnect)
        client.receive(F.settings([(3, 5)]) + F.settings([(8, 1)]))
        #expect(client.session.allowsExtendedConnect)
        _ = client.takeLines()
        client.receive(F.settings([(8, second)]))
        #expect(client.takeLines().first?.hasPrefix("error violation") == true)
    }

    // WS-2: RFC 9110 §9.3.6 has a client ignore the length
    @Test("the response that opens a tunnel has no length, despite its fields")
    func length() {
        let client = HTTP2Client.withRequests(0)
        let stream = client.submit("CONNECT", body: [.later])
        _ = client.takeFrames()
        client.receive(F.head(stream, 200, [("content-length", "5")]) + F.data(stream, "abc", ends: true))
        #expect(client.takeLines().dropFirst() == ["1 body abc", "1 ended"])
        client.bodies[stream] = [.bytes(4, isLast: true)]
        client.session.resumeBody(of: stream)
        #expect(client.takeFrameLines().last?.hasPrefix("DATA 1") == true)
        #expect(client.takeLines() == ["1 closed"])
    }
}
