import LoadingProtocols
import TestSupport
import Testing

private typealias F = HTTP3Frames

/// Tunnels over HTTP/3: RFC 9220, and RFC 9114 §4.4.
@Suite("CONNECT over HTTP/3", .needsHTTP3)
struct HTTP3ConnectTests {
    // WS-2: RFC 9220 §3
    @Test("a server's settings for extended CONNECT", arguments: [1, 2, 1_000])
    func settings(cut: Int) {
        let all: [([(UInt64, UInt64)], Bool)] = [
            ([(8, 1)], true), ([(8, 0)], false), ([], false), ([(0x33, 1), (8, 1), (0x21_0000, 1 << 40)], true),
            ([(1 << 20, 8), (0x21, 1)], false),
        ]
        for (entries, expected) in all {
            let client = HTTP3Client()
            // The streams of field compression may come first, and their octets may look like a stream's type.
            client.receive([2], on: 3)
            client.receive([0x20], on: 3)
            let bytes = F.control(entries) + F.frame(0x21, [8, 1, 8, 1])
            for start in stride(from: 0, to: bytes.count, by: cut) {
                #expect(start > 0 || !client.session.allowsExtendedConnect)
                client.receive(Array(bytes[start..<min(start + cut, bytes.count)]), on: 7)
            }
            client.receive([3], on: 11)
            #expect(client.session.allowsExtendedConnect == expected, "\(entries)")
            #expect(client.takeLines() == [])
        }
    }

    // WS-2: RFC 9110 §9.3.6 has a client ignore the length
    @Test("the response that opens a tunnel has no length, despite its fields")
    func length() {
        let client = HTTP3Client.withRequests(0)
        let stream = client.submit("CONNECT", body: [.later])
        _ = client.takeAll()
        client.receive(F.head(200, [("content-length", "5")]) + F.data("abc"), isLast: true)
        #expect(client.takeLines().dropFirst() == ["0 body abc", "0 ended"])
        client.bodies[stream] = [.bytes(4, isLast: true)]
        client.session.resumeBody(of: stream)
        #expect(client.takeAll()[stream]?.count == 6)
        #expect(client.takeLines() == ["0 closed"])
    }

    // WS-2: RFC 9114 §4.4 has a server abort both directions
    @Test("a server that takes nothing more of a tunnel ends it")
    func stopped() {
        let client = HTTP3Client.withRequests(0)
        client.submit("CONNECT", body: [.later])
        client.submit("CONNECT", body: [.later])
        _ = client.takeAll()
        client.receive(F.head(200) + F.data("x"))
        client.receiveStop(.connectError, on: 0)
        let lines = client.takeLines()
        #expect(lines.dropFirst().first == "0 body x")
        #expect(lines.last?.hasPrefix("0 closed reset(code: 271") == true)
        // One that declines a tunnel may say first that it reads nothing of it.
        client.receiveStop(.noError, on: 4)
        client.receive(F.head(403), isLast: true, on: 4)
        #expect(client.takeLines().dropFirst() == ["4 ended", "4 closed"])
    }
}
