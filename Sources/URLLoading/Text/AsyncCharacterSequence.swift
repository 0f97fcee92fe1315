/// The characters of UTF-8 bytes. A character is complete when the first scalar of the next one is known.
///
/// Created by `characters` of a sequence of bytes. CR LF is one character. Invalid UTF-8 becomes U+FFFD, as in
/// `String(decoding:as:)`.
public struct AsyncCharacterSequence<Base: AsyncSequence>: AsyncSequence where Base.Element == UInt8 {
    /// The type of an element.
    public typealias Element = Character
    /// The error of the bytes.
    public typealias Failure = Base.Failure

    private let base: Base

    init(_ base: Base) { self.base = base }

    /// An iterator with its own position in the bytes.

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base) }

    /// Iterates over the characters.
    public struct AsyncIterator: AsyncIteratorProtocol {
        /// The type of an element.
        public typealias Element = Character
        /// The error of the bytes.
        public typealias Failure = Base.Failure

        @usableFromInline var scanning: ScanningIterator<Base, CharacterScanner>

        init(_ base: Base) { scanning = ScanningIterator(base, CharacterScanner()) }

        /// The next character; nil at the end of the text.
        @inlinable
        public mutating func next() async throws(Base.Failure) -> Character? {
            try await scanning.next(isolation: nil)
        }

        /// The next character; nil at the end of the text. Stays on the caller's executor.
        @inlinable
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(Base.Failure) -> Character? {
            try await scanning.next(isolation: actor)
        }
    }
}

extension AsyncCharacterSequence: Sendable where Base: Sendable {}
extension AsyncCharacterSequence.AsyncIterator: Sendable where Base.AsyncIterator: Sendable {}

extension AsyncSequence where Element == UInt8 {
    /// The characters of these bytes, read as UTF-8.
    @_disfavoredOverload
    public var characters: AsyncCharacterSequence<Self> { AsyncCharacterSequence(self) }
}
