import Foundation
import LoadingEvents
import Testing

@testable import URLSessionCommandCore

/// Which heads are recorded.
@Suite struct HeadRecorderTests {
    private func request(_ target: String, round: UInt64) -> MessageHead {
        var head = MessageHead(.request(method: "CONNECT", target: target), version: "HTTP/1.1", fields: [])
        head.tunnelRound = round
        return head
    }

    private func response(_ status: Int, round: UInt64) -> MessageHead {
        var head = MessageHead(.response(status: status), version: "HTTP/1.1", fields: [])
        head.tunnelRound = round
        return head
    }

    // AUTH-28: two concurrent tunnels, the first of which is challenged
    @Test("a proxy's response is paired with its CONNECT request") func rounds() {
        let heads = HeadRecorder(
            VerboseOutput(CommandLineRequest(url: "http://h/"), terminal: Terminal()), retaining: .none,
            keepsTunnels: true)
        let observed = [
            request("a:443", round: 1), request("b:443", round: 2), response(407, round: 1), request("a:443", round: 3),
            response(200, round: 2), response(201, round: 3), response(202, round: 4), response(203, round: 3),
        ]
        for head in observed { heads.observe(head) }
        let kept = heads.tunnelExchanges
        #expect(kept.map(\.request) == [observed[0], observed[1], observed[3]])
        #expect(kept.map(\.response) == [observed[2], observed[4], observed[5]])
    }
}
