/// Why a `MessageSocket` has ended.
package enum MessageSocketEnd: Equatable, Sendable {
    /// The peer has closed the connection, perhaps within a message.
    case closed
    /// The peer has announced a message longer than the limit.
    case tooLong
    /// The peer has sent a message that cannot be decoded.
    case malformed
    /// The peer has sent a message in another version of the format.
    case unknownVersion(Int)
    /// The peer does not read, and too many bytes wait for it.
    case backlog
    /// A system call has failed with that errno.
    case error(Int32)
}
