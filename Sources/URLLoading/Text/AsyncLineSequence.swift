/// The lines of UTF-8 bytes, each as soon as its terminator is received.
///
/// Created by `lines` of a sequence of bytes. A line ends with LF, VT, FF, CR, CR LF, NEL (U+0085), LINE
/// SEPARATOR (U+2028) or PARAGRAPH SEPARATOR (U+2029), which is not part of the line. The last line needs no
/// terminator. **Empty lines are omitted**, as on Apple platforms; read the bytes if they matter, for example for
/// server-sent events. Invalid UTF-8 becomes U+FFFD, as in `String(decoding:as:)`.
///
/// A whole line is kept in memory, however long it is.
public struct AsyncLineSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
    /// The type of an element.
    public typealias Element = String
    /// The error of the bytes.
    public typealias Failure = Base.Failure

    private let base: Base

    init(_ base: Base) { self.base = base }

    /// An iterator with its own position in the bytes.

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base) }

    /// Iterates over the lines.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The type of an element.
        public typealias Element = String
        /// The error of the bytes.
        public typealias Failure = Base.Failure

        @usableFromInline var scanning: ScanningIterator<Base, LineScanner>

        init(_ base: Base) { scanning = ScanningIterator(base, LineScanner()) }

        /// The next line that is not empty; nil at the end of the text.
        @inlinable
        public mutating func next() async throws(Base.Failure) -> String? {
            try await scanning.next(isolation: nil)
        }

        /// The next line that is not empty; nil at the end of the text. Stays on the caller's executor.
        @inlinable
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(Base.Failure) -> String? {
            try await scanning.next(isolation: actor)
        }
    }
}

extension AsyncLineSequence: Sendable where Base: Sendable {}
extension AsyncLineSequence.AsyncIterator: Sendable where Base.AsyncIterator: Sendable {}

extension AsyncSequence where Element == UInt8 {
    /// The lines of these bytes, decoded as UTF-8. Empty lines are omitted.
    @_disfavoredOverload
    public var lines: AsyncLineSequence<Self> { AsyncLineSequence(self) }
}
