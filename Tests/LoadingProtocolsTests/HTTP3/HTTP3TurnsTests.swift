import LoadingProtocols
import TestSupport
import Testing

/// The order in which the streams of a connection are sent.
@Suite("Turns of streams over HTTP/3", .needsHTTP3) struct HTTP3TurnsTests {
    private static let largeBody: [HTTPStreamBodyRead] = [.bytes(1_000_000, isLast: true)]

    /// The number of bytes that are sent before the last one of each stream.
    private static func bytesBeforeEnd(of client: HTTP3Client) -> [Int64: Int] {
        var (sum, ends) = (0, [Int64: Int]())
        while let piece = client.session.takeLooseOutput() {
            sum += piece.bytes.count
            if piece.isLast { ends[piece.stream] = sum }
        }
        return ends
    }

    // Otherwise it waits for the whole body, on a slow path for longer than its timeout.
    @Test("a request is sent while the body of an earlier one is") func requestBesideBody() throws {
        let client = HTTP3Client.withRequests(0)
        let upload = client.submit("POST", body: Self.largeBody)
        let request = client.submit()
        let ends = Self.bytesBeforeEnd(of: client)
        #expect(try #require(ends[upload]) > 1_000_000)
        #expect(try #require(ends[request]) < 200_000)
    }

    @Test("bodies are sent by turns, and none is lost") func bodies() throws {
        let client = HTTP3Client.withRequests(0)
        let uploads = (0..<3).map { _ in client.submit("POST", body: Self.largeBody) }
        let ends = Self.bytesBeforeEnd(of: client)
        #expect(ends.count == 3)
        for upload in uploads { #expect(try #require(ends[upload]) > 2_700_000) }
    }

    @Test("a body is sent on if its stream rested when another one ended") func endOfAnother() throws {
        let client = HTTP3Client.withRequests(0)
        let upload = client.submit("POST", body: Self.largeBody)
        let other = client.submit("POST", body: Self.largeBody)
        for _ in 0..<3 { _ = client.session.takeLooseOutput() }
        client.session.reset(other, code: .requestCancelled)
        let ends = Self.bytesBeforeEnd(of: client)
        #expect(ends[upload] != nil)
    }
}
