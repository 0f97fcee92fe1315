/// Makes text elements of UTF-8 that comes a buffer at a time. What a buffer ends in the middle of is kept until the
/// next one.
@usableFromInline
package protocol ByteScanner: Sendable {
    associatedtype Element

    /// Takes the next bytes. Only to be called when ``next()`` has returned nil.
    mutating func refill(_ bytes: [UInt8])

    /// The same with a single byte, without an allocation.
    mutating func refill(_ byte: UInt8)

    /// The next element that is known to be complete; nil when more bytes are needed to tell.
    mutating func next() -> Element?

    /// What is left when there are no more bytes, one element a call.
    mutating func finish() -> Element?
}
