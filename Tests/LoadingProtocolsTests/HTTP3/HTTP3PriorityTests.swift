import LoadingProtocols
import TestSupport
import Testing

/// Priorities of responses that are sent to a server (RFC 9218).
@Suite("Priorities over HTTP/3", .needsHTTP3) struct HTTP3PriorityTests {
    /// PRIORITY_UPDATE for a request stream.
    private static func update(of stream: UInt64, _ text: String) -> [UInt8] {
        HTTP3Frames.frame(0xF0700, HTTP3Frames.number(stream) + Array(text.utf8))
    }

    // T-19
    @Test("a changed priority is sent on the control stream") func changed() {
        let client = HTTP3Client.withRequests(2)
        let control: Int64 = 2
        client.session.setPriority(urgency: 1, isIncremental: false, of: 4)
        #expect(client.takeAll()[control] == Self.update(of: 4, "u=1"))
        client.session.setPriority(urgency: 6, isIncremental: false, of: 0)
        #expect(client.takeAll()[control] == Self.update(of: 0, "u=6"))
        // Of a stream that is not there nothing is said.
        client.session.setPriority(urgency: 1, isIncremental: false, of: 400)
        #expect(client.takeAll()[control] == nil)
    }
}
