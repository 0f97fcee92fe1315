internal import Foundation
internal import LoadingConnections
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// A request body from an `InputStream`, read in pieces and not on the loop, because streams may block.
///
/// The stream is used on a queue of its own; an `InterruptibleStream` is closed on the loop. The next piece is read
/// after the kernel has accepted the previous one.
final class InputStreamSource: RequestBodySource, @unchecked Sendable {
    // Sendable because `stream` and `isOpen` are used on `queue`, `isUnread` on the loop, and the lock guards `use`.
    // Any thread may close an `InterruptibleStream`.

    private let stream: InputStream
    private let loop: EventLoop
    private let queue = DispatchQueue(label: "URLSession body stream")
    private var isOpen = false
    private let lock = Lock()
    private var use = Use()
    private(set) var isUnread = true

    private struct Use {
        /// Whether the stream is this source's.
        var hasClaim = false
        var isCancelled = false
        var isClosed = false
    }

    /// The streams that are read. A delegate may give one once more, which another source will close on its own queue,
    /// and streams are for one thread at a time.
    private static let claims = Claims()

    private final class Claims: @unchecked Sendable {
        // Sendable because the lock guards `streams`.
        private let lock = Lock()
        private var streams: Set<ObjectIdentifier> = []

        /// False if another source reads it.
        func add(_ stream: InputStream) -> Bool { lock.withLock { streams.insert(ObjectIdentifier(stream)).inserted } }

        func remove(_ stream: InputStream) { lock.withLock { _ = streams.remove(ObjectIdentifier(stream)) } }
    }

    private static let pieceSize = 64 * 1024

    init(_ stream: InputStream, on loop: EventLoop) {
        self.stream = stream
        self.loop = loop
    }

    deinit { if use.hasClaim { Self.claims.remove(stream) } }

    func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void) {
        isUnread = false
        let box = LoopBox(deliver)
        queue.async { [self] in
            let piece = read()
            loop.post { box.value(piece) }
        }
    }

    private func read() -> Result<BodyPiece, LoadError> {
        if !isOpen {
            isOpen = true
            guard Self.claims.add(stream) else { return .failure(.requestBodyStreamExhausted) }
            let isCancelled = lock.withLock {
                use.hasClaim = true
                return use.isCancelled
            }
            if isCancelled {
                close()
                return .failure(.requestBodyStreamExhausted)
            }
            switch stream.streamStatus {
            case .notOpen: stream.open()
            // The stream has been used already.
            case .atEnd, .closed: return .failure(.requestBodyStreamExhausted)
            default: break
            }
        }
        var buffer = [UInt8](repeating: 0, count: Self.pieceSize)
        let count = stream.read(&buffer, maxLength: buffer.count)
        // A faulty subclass may return more than the buffer's length.
        if count > buffer.count { return .failure(.requestBodyStreamExhausted) }
        if count > 0 { return .success(.bytes(Data(buffer[..<count]))) }
        // A stream that was closed meanwhile has not reached its end.
        if count == 0 {
            if stream.streamStatus == .closed { return .failure(.requestBodyStreamExhausted) }
            // Its descriptor would be open for as long as the program has the task.
            close()
            return .success(.end)
        }
        // Foundation's streams trap if they are asked for an error that they do not have, as one that was closed
        // meanwhile.
        let error = stream.streamStatus == .error ? stream.streamError as NSError? : nil
        let cause = error.flatMap { error -> LoadError.Cause? in
            error.domain == NSPOSIXErrorDomain ? .posix(Int32(truncatingIfNeeded: error.code)) : nil
        }
        return .failure(LoadError(code: LoadError.requestBodyStreamExhausted.code, cause: cause))
    }

    func cancel() {
        // An unopened stream can still be sent over another connection.
        guard !isUnread else { return }
        let hasClaim = lock.withLock {
            use.isCancelled = true
            return use.hasClaim
        }
        // Others are closed after the `read` that may be waiting.
        if !(stream is any InterruptibleStream) {
            queue.async { [self] in if lock.withLock({ use.hasClaim }) { close() } }
        } else if hasClaim {
            close()
        }
    }

    /// Once, because a subclass may close a descriptor that is another file's by then.
    private func close() {
        let wasClosed = lock.withLock {
            defer { use.isClosed = true }
            return use.isClosed
        }
        if !wasClosed { stream.close() }
    }
}
