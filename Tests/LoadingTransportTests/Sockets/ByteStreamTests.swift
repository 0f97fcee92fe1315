import Glibc
import LoadingTransport
import TestSupport
import Testing

/// Reading from a stream whose peer has closed.
@Suite struct ByteStreamTests {
    private typealias Failure = TestSupport.POSIXFailure

    /// A connected stream and the descriptor of its peer.
    private final class Pair: ByteStreamOwner, @unchecked Sendable {
        // Sendable because the stream is touched on the loop only.

        let loop = EventLoops.assign()
        /// -1 until the stream is connected.
        private(set) var peer: Int32 = -1
        private var stream: ByteStream?
        private let isConnected = Signal("the connection")

        init() async throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            defer { close(listener) }
            guard listener >= 0, listen(listener, 1) == 0 else { throw Failure("listen") }
            var name = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutableBytes(of: &name) { bytes in
                _ = getsockname(listener, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
            }
            let port = UInt16(bigEndian: name.sin_port)
            let address = try #require(SocketAddress(literal: "127.0.0.1", port: port))
            loop.post { [self] in stream = try? ByteStream.connect(to: address, on: loop, owner: self) }
            try await isConnected.wait()
            peer = accept(listener, nil, nil)
            guard peer >= 0 else { throw Failure("accept") }
        }

        func streamBecameReady(_ stream: ByteStream) {
            if case .success? = stream.finishConnecting() { isConnected.fire() }
        }

        func onLoop<Result: Sendable>(_ body: @escaping @Sendable (ByteStream?) -> Result) async -> Result {
            await withCheckedContinuation { continuation in
                loop.post { continuation.resume(returning: body(self.stream)) }
            }
        }

        func end() async { await onLoop { $0?.close() } }
    }

    enum Leave: CaseIterable {
        /// Resets the connection: the first write fails.
        case reset
        /// Closes it: the second write fails.
        case close
    }

    private static func write(to stream: ByteStream) -> StreamWrite {
        [UInt8]("request".utf8).withUnsafeBytes { stream.write($0) }
    }

    /// The results of a read, the first write that fails, and two reads after it.
    private static func outcome(of leave: Leave, _ stream: ByteStream, _ peer: Int32) -> [String] {
        var results = [Self.read(stream)]
        _ = "last words".withCString { send(peer, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
        if leave == .reset {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(peer, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        }
        close(peer)
        // The kernel answers it with a reset.
        if leave == .close, case .failed = write(to: stream) { results.append("failed at once") }
        var polled = pollfd(fd: stream.descriptor, events: 0, revents: 0)
        guard poll(&polled, 1, 5_000) == 1, polled.revents & Int16(POLLHUP) != 0 else { return ["no reset"] }
        if case .failed = write(to: stream) { results.append("failed") }
        results.append(Self.read(stream))
        results.append(Self.read(stream))
        return results
    }

    private static func read(_ stream: ByteStream) -> String {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            switch stream.read(into: buffer) {
            case .bytes(let count): String(decoding: buffer[..<count], as: UTF8.self)
            case .wouldBlock: "nothing"
            case .end, .truncated, .failed: "the end"
            }
        }
    }

    // CONN-10: data sent before the server closed is read, although the loop has not reported it
    @Test("after a failed write the data that the peer has sent can be read", arguments: Leave.allCases)
    func lastWords(leave: Leave) async throws {
        let pair = try await Pair()
        let peer = pair.peer
        // In one job, so that the loop processes no events in between.
        let results = await pair.onLoop { stream in stream.map { Self.outcome(of: leave, $0, peer) } }
        #expect(results == ["nothing", "failed", "last words", "the end"])
        await pair.end()
    }
}
