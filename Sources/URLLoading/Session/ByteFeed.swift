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
            if let response { .success(response) } else if let end { .failure(end ?? URLError(.badServerResponse)) } else { nil }
        if known == nil { responseWaiter = body }
        lock.unlock()
        if let known { body(known) }
    }

    /// The next piece, nil at the end. `wasFull` is called when reading may go on.
    func next(_ wasFull: () -> Void) async throws -> Data? {
        if let piece = try take(wasFull) { return piece.isEmpty ? nil : piece }
        return try await withCheckedThrowingContinuation { continuation in
            lock.lock()
            if !pieces.isEmpty {
                let piece = takeAll()
                lock.unlock()
                continuation.resume(returning: piece)
            } else if let end {
                lock.unlock()
                if let end { continuation.resume(throwing: end) } else { continuation.resume(returning: nil) }
            } else if reader != nil {
                // Two readers at once is a misuse that must not hang either: the second sees the end.
                lock.unlock()
                continuation.resume(returning: nil)
            } else {
                reader = continuation
                lock.unlock()
            }
        }
    }

    /// What is there now: a piece, an empty one at the end, nil when the reader has to wait.
    private func take(_ wasFull: () -> Void) throws -> Data? {
        lock.lock()
        if !pieces.isEmpty {
            let piece = takeAll()
            let mayGoOn = isFull
            isFull = false
            lock.unlock()
            if mayGoOn { wasFull() }
            return piece
        }
        let end = self.end
        lock.unlock()
        switch end {
        case .none: return nil
        case .some(.none): return Data()
        case .some(.some(let error)): throw error
        }
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
