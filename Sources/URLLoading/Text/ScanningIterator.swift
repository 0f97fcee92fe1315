/// Reads bytes as they are needed and gives the elements that a scanner makes of them: what the text sequences have in
/// common.
///
/// Nearly every element is already in the buffer. Taking it is no call of an `async` function, so that it costs no
/// frame of one: hence what of this is inlined into the caller's code.
@usableFromInline
struct ScanningIterator<Base: AsyncSequence, Scanner: ByteScanner> where Base.Element == UInt8 {
    @usableFromInline var scanner: Scanner
    private var isEnded = false
    /// Where the bytes come from if they come many at a time; else from `bytes`.
    private var buffers: (any BufferedBytes<Base.Failure>)?
    private var bytes: Base.AsyncIterator

    init(_ base: Base, _ scanner: Scanner) {
        self.scanner = scanner
        bytes = base.makeAsyncIterator()
        buffers = bytes as? any BufferedBytes<Base.Failure>
    }

    /// The next element; nil at the end, and ever after an error.
    @inlinable @inline(__always)
    mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Scanner.Element? {
        if let element = scanner.next() { return element }
        return try await readOn(isolation: actor)
    }

    /// The same when there is none in the buffer.
    @usableFromInline
    mutating func readOn(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Scanner.Element? {
        while !isEnded {
            do {
                isEnded = try await !refill(isolation: actor)
            } catch {
                // The beginning of an element that was cut off is not given out.
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
