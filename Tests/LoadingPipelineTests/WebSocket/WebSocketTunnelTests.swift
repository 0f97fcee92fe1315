import LoadingConnections
import LoadingProtocols
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import Testing

@testable import LoadingPipeline

/// The stream of HTTP/2 or HTTP/3 that carries a WebSocket, and what it keeps.
@Suite struct WebSocketTunnelTests {
    // T-65: the server is always faster, so that something is unread at each moment
    @Test("what was read is not kept") func whatWasRead() async throws {
        let stepped = try SteppedLoop()
        try await stepped.run {
            let loop = stepped.loop
            let tunnel = WebSocketTunnel(
                FakeExchangeStream("carrier", isShared: true) { _ in }, on: loop, before: Stage())
            tunnel.exchangeReceived(
                head: ResponseHead(status: 200, version: .http2, reason: "", fields: HTTPFields(), byteCount: 0),
                body: .unknown)
            let piece = [UInt8](0..<100)
            piece.withUnsafeBytes { tunnel.exchangeReceived(body: $0) }
            var most = 0
            var octets: [UInt8] = []
            for _ in 0..<1_000 {
                piece.withUnsafeBytes { tunnel.exchangeReceived(body: $0) }
                most = max(most, tunnel.received.bytes.count)
                var buffer = [UInt8](repeating: 0, count: 100)
                let result = buffer.withUnsafeMutableBytes { tunnel.read(into: $0) }
                if case .bytes(let count) = result { octets += buffer[..<count] }
            }
            #expect(most <= 400)
            #expect(octets == Array(repeating: piece, count: 1_000).flatMap { $0 })
        }
    }

    private final class Stage: ExchangeObserver {
        func exchangeSentHead(bytes: Int) {}
        func exchangeSentBody(bytes: Int, onWire: Int) {}
        func exchangeSentRequest() {}
        func exchangeStartedResponse() {}
        func exchangeReceived(informational head: ResponseHead) {}
        func exchangeReceived(head: ResponseHead, body: BodyLength) {}
        func exchangeReceived(body: UnsafeRawBufferPointer) {}
        func exchangeBuffer(most: Int) -> UnsafeMutableRawBufferPointer? { nil }
        func exchangeFilled(_ count: Int) {}
        func exchangePipe() -> Int32? { nil }
        func exchangeFilledPipe(_ count: Int) {}
        func exchangeEnded(bodyBytes: Int64) {}
        func exchangeFailed(_ failure: ExchangeFailure) {}
    }
}
