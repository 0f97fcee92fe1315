/// Reads bytes on demand and returns the elements of a scanner. Shared by the text sequences.
///
/// Most elements are already in the buffer. Returning one does not call an `async` function, which avoids its frame;
/// therefore this part is inlinable.
@usableFromInline
struct ScanningIterator<Base: AsyncSequence, Scanner: ByteScanner> where Base.Element == UInt8 {
    @usableFromInline var scanner: Scanner
    private var isEnded = false
    /// The source if it provides whole buffers; otherwise `bytes` is used.
    private var buffers: (any BufferedBytes<Base.Failure>)?
    private var bytes: Base.AsyncIterator

    init(_ base: Base, _ scanner: Scanner) {
        self.scanner = scanner
        bytes = base.makeAsyncIterator()
        buffers = bytes as? any BufferedBytes<Base.Failure>
    }

    /// The next element; nil at the end and after an error.
    @inlinable @inline(__always)
    mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Scanner.Element? {
        if let element = scanner.next() { return element }
        return try await readMore(isolation: actor)
    }

    /// Reads more bytes if the buffer contains no complete element.
    @usableFromInline
    mutating func readMore(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Scanner.Element? {
        while !isEnded {
            do {
                isEnded = try await !refill(isolation: actor)
            } catch {
                // An incomplete element is discarded after an error.
                isEnded = true
                while scanner.finish() != nil {}
                throw error
            }
            if let element = scanner.next() { return element }
        }
        return scanner.finish()
    }

    /// False when there are no more bytes.
    private mutating func refill(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Bool {
        if buffers != nil {
            guard let buffer = try await buffers?.nextBuffer(isolation: actor) else { return false }
            scanner.refill(buffer)
        } else {
            guard let byte = try await bytes.next(isolation: actor) else { return false }
            scanner.refill(byte)
        }
        return true
    }
}

extension ScanningIterator: Sendable where Base.AsyncIterator: Sendable {}

/// Decodes text elements from buffers of UTF-8. An incomplete element at the end of a buffer is kept for the next one.
@usableFromInline
package protocol ByteScanner: Sendable {
    associatedtype Element

    /// Adds bytes. Must be called only after ``next()`` has returned nil.
    mutating func refill(_ bytes: [UInt8])

    /// Adds one byte, without an allocation.
    mutating func refill(_ byte: UInt8)

    /// The next complete element; nil if more bytes are needed.
    mutating func next() -> Element?

    /// The remaining elements after the last byte, one per call.
    mutating func finish() -> Element?
}

/// The unscanned bytes of a scanner.
struct ByteBuffer: Sendable {
    private(set) var bytes: [UInt8] = []
    var offset = 0

    mutating func refill(_ bytes: [UInt8]) {
        self.bytes = bytes
        offset = 0
    }

    mutating func refill(_ byte: UInt8) {
        bytes.removeAll(keepingCapacity: true)
        bytes.append(byte)
        offset = 0
    }
}

/// A byte iterator that can return a whole buffer, so that text decoding does not await each byte.
protocol BufferedBytes<Failure>: AsyncIteratorProtocol, Sendable where Element == UInt8 {
    /// All available bytes; waits for at least one. Nil at the end.
    mutating func nextBuffer(isolation actor: isolated (any Actor)?) async throws(Failure) -> [UInt8]?
}
