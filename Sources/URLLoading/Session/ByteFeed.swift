internal import Foundation
internal import LoadingEvents
internal import LoadingTransport

/// The buffer between a load and one `async` reader. Reading from the socket stops while `highWater` bytes are
/// buffered.
///
/// A waiting reader is resumed with the loop lent, because resuming calls its executor, which may be the program's
/// code.
final class ByteFeed: Callout, @unchecked Sendable {
    // Sendable: `lock` guards all mutable state.

    private let loop: EventLoop
    private let lock = Lock()
    private var pieces: [Data] = []
    private var waitingBytes = 0
    private var isFull = false
    private var end: (any Error)??
    private var reader: Reader?
    private var responseWaiter: (@Sendable (Result<URLResponse, any Error>) -> Void)?
    private var response: URLResponse?

    /// The waiting reader, and the function that resumes reading from the socket.
    private struct Reader {
        let continuation: CheckedContinuation<Data?, any Error>
        let goOn: @Sendable () -> Void
    }

    private static let highWater = 256 * 1024

    init(on loop: EventLoop) { self.loop = loop }

    // MARK: From the loop

    /// False if the buffer is full.
    func append(_ piece: Data) -> Bool {
        lock.lock()
        // Several pieces may arrive before the reader is resumed.
        let mustNotify = reader != nil && pieces.isEmpty
        pieces.append(piece)
        waitingBytes += piece.count
        isFull = waitingBytes >= Self.highWater
        let wantsMore = !isFull
        lock.unlock()
        if mustNotify { loop.callOut(self) }
        return wantsMore
    }

    func receive(_ response: URLResponse) {
        lock.lock()
        self.response = response
        let mustNotify = responseWaiter != nil
        lock.unlock()
        if mustNotify { loop.callOut(self) }
    }

    // MARK: With the loop lent, or on the delegate queue

    func finish(_ error: (any Error)?) {
        lock.withLock { end = .some(error) }
        callOut()
    }

    /// Resumes the waiting reader with the buffered bytes.
    func callOut() {
        lock.lock()
        let outcome = responseOutcome
        let waiter = outcome == nil ? nil : responseWaiter
        if waiter != nil { responseWaiter = nil }
        let waiting = reader
        let next = waiting == nil ? nil : takeNext()
        if next != nil { reader = nil }
        lock.unlock()
        if let outcome { waiter?(outcome) }
        guard let waiting, let next else { return }
        if next.mayGoOn { waiting.goOn() }
        waiting.continuation.resume(with: next.result)
    }

    // MARK: From the reader

    func whenResponded(_ body: @escaping @Sendable (Result<URLResponse, any Error>) -> Void) {
        lock.lock()
        let known = responseOutcome
        if known == nil { responseWaiter = body }
        lock.unlock()
        if let known { body(known) }
    }

    /// The next piece, nil at the end. `goOn` is called when reading from the socket may resume.
    func next(
        isolation actor: isolated (any Actor)?, _ goOn: @escaping @Sendable () -> Void
    ) async throws -> Data? {
        if let known = take(goOn) { return try known.get() }
        return try await withCheckedThrowingContinuation(isolation: actor) { continuation in
            if let known = take(goOn, orWaitWith: continuation) { continuation.resume(with: known) }
        }
    }

    /// The buffered piece, nil at the end, or an error. If there is nothing yet, `continuation` waits for it.
    private func take(
        _ goOn: @escaping @Sendable () -> Void, orWaitWith continuation: CheckedContinuation<Data?, any Error>? = nil
    ) -> Result<Data?, any Error>? {
        lock.lock()
        guard reader == nil else {
            lock.unlock()
            return .failure(Self.otherReader)
        }
        let next = takeNext()
        if next == nil { reader = continuation.map { Reader(continuation: $0, goOn: goOn) } }
        lock.unlock()
        guard let next else { return nil }
        if next.mayGoOn { goOn() }
        return next.result
    }

    /// Concurrent readers are a programming error that must neither hang nor look like the end of the body.
    private static var otherReader: URLError {
        let words = "Another reader waits for the next bytes of this response. Iterate over them in one place only."
        return URLError(.resourceUnavailable, userInfo: [NSLocalizedDescriptionKey: words])
    }

    // MARK: Under the lock

    private var responseOutcome: Result<URLResponse, any Error>? {
        if let response { return .success(response) }
        return end.map { .failure($0 ?? URLError(.badServerResponse)) }
    }

    /// All buffered bytes, otherwise the end; nil if there is neither. Allows reading to resume.
    private func takeNext() -> (result: Result<Data?, any Error>, mayGoOn: Bool)? {
        if !pieces.isEmpty {
            let mayGoOn = isFull
            isFull = false
            return (.success(takeAll()), mayGoOn)
        }
        return end.map { (($0.map { .failure($0) } ?? .success(nil)), false) }
    }

    private func takeAll() -> Data {
        defer {
            pieces.removeAll(keepingCapacity: true)
            waitingBytes = 0
        }
        if pieces.count == 1 { return pieces[0] }
        var all = Data(capacity: waitingBytes)
        for piece in pieces { all.append(piece) }
        return all
    }
}
