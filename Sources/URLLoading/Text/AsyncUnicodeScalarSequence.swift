/// The Unicode scalars of UTF-8 bytes, each as soon as its last byte is received.
///
/// Created by `unicodeScalars` of a sequence of bytes. Invalid UTF-8 becomes U+FFFD, as in
/// `String(decoding:as:)`.
public struct AsyncUnicodeScalarSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
    /// The type of an element.
    public typealias Element = UnicodeScalar
    /// The error of the bytes.
    public typealias Failure = Base.Failure

    private let base: Base

    init(_ base: Base) { self.base = base }

    /// An iterator with its own position in the bytes.

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base) }

    /// Iterates over the scalars.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The type of an element.
        public typealias Element = UnicodeScalar
        /// The error of the bytes.
        public typealias Failure = Base.Failure

        @usableFromInline var scanning: ScanningIterator<Base, ScalarScanner>

        init(_ base: Base) { scanning = ScanningIterator(base, ScalarScanner()) }

        /// The next scalar; nil at the end of the text.
        @inlinable
        public mutating func next() async throws(Base.Failure) -> UnicodeScalar? {
            try await scanning.next(isolation: nil)
        }

        /// The next scalar; nil at the end of the text. Stays on the caller's executor.
        @inlinable
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(Base.Failure) -> UnicodeScalar? {
            try await scanning.next(isolation: actor)
        }
    }
}

extension AsyncUnicodeScalarSequence: Sendable where Base: Sendable {}
extension AsyncUnicodeScalarSequence.AsyncIterator: Sendable where Base.AsyncIterator: Sendable {}

extension AsyncSequence where Element == UInt8 {
    /// The Unicode scalars of these bytes, read as UTF-8.
    @_disfavoredOverload
    public var unicodeScalars: AsyncUnicodeScalarSequence<Self> { AsyncUnicodeScalarSequence(self) }
}
