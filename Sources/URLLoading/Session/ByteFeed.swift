internal import Foundation
internal import LoadingEvents

/// A body on its way to one `async` reader: pieces in, pieces out, and a stop to the reading of the socket while
/// `highWater` bytes wait.
final class ByteFeed: @unchecked Sendable {
    // Sendable because everything mutable is guarded by `lock`.

    private let lock = Lock()
    private var pieces: [Data] = []
    private var waitingBytes = 0
    private var isFull = false
    private var end: (any Error)??
    private var reader: CheckedContinuation<Data?, any Error>?
    private var responseWaiter: (@Sendable (Result<URLResponse, any Error>) -> Void)?
    private var response: URLResponse?

    private static let highWater = 256 * 1024

    // MARK: From the loop

    /// False when the reader has enough for now.
    func append(_ piece: Data) -> Bool {
        lock.lock()
        if let reader {
            self.reader = nil
            lock.unlock()
            reader.resume(returning: piece)
            return true
        }
        pieces.append(piece)
        waitingBytes += piece.count
        isFull = waitingBytes >= Self.highWater
        defer { lock.unlock() }
        return !isFull
    }

    func receive(_ response: URLResponse) {
        lock.lock()
        self.response = response
        let waiter = responseWaiter
        responseWaiter = nil
        lock.unlock()
        waiter?(.success(response))
    }

    func finish(_ error: (any Error)?) {
        lock.lock()
        end = .some(error)
        let reader = self.reader
        self.reader = nil
        let waiter = responseWaiter
        responseWaiter = nil
        lock.unlock()
        waiter?(.failure(error ?? URLError(.badServerResponse)))
        if let error { reader?.resume(throwing: error) } else { reader?.resume(returning: nil) }
    }

    // MARK: From the reader

    func whenResponded(_ body: @escaping @Sendable (Result<URLResponse, any Error>) -> Void) {
        lock.lock()
        let known: Result<URLResponse, any Error>? =
            if let response { .success(response) } else if let end {
                .failure(end ?? URLError(.badServerResponse))
            } else { nil }
        if known == nil { responseWaiter = body }
        lock.unlock()
        if let known { body(known) }
    }

    /// The next piece, nil at the end. `goOn` is called when reading had stopped and may go on.
    func next(isolation actor: isolated (any Actor)?, _ goOn: () -> Void) async throws -> Data? {
        if let known = take(goOn) { return try known.get() }
        return try await withCheckedThrowingContinuation(isolation: actor) { continuation in
            if let known = take(goOn, orWaitWith: continuation) { continuation.resume(with: known) }
        }
    }

    /// What is there: a piece, nil at the end, or an error. When there is nothing yet, `reader` waits for it.
    private func take(
        _ goOn: () -> Void, orWaitWith reader: CheckedContinuation<Data?, any Error>? = nil
    ) -> Result<Data?, any Error>? {
        lock.lock()
        if !pieces.isEmpty {
            let piece = takeAll()
            let mayGoOn = isFull
            isFull = false
            lock.unlock()
            if mayGoOn { goOn() }
            return .success(piece)
        }
        defer { lock.unlock() }
        if let end { return end.map { .failure($0) } ?? .success(nil) }
        // Two readers at once is a misuse that must not hang either: the second sees the end.
        if self.reader != nil { return .success(nil) }
        self.reader = reader
        return nil
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
