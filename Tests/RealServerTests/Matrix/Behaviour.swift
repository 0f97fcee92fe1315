/// What the matrix has a server do.
enum Behaviour: Sendable, CaseIterable {
    case small
    case empty
    case big
    case upload
    case stream
    case redirect
    case statuses
    case challenge
    case trailers
    case hundredAtOnce
    case cancel
    /// The stream, or the connection, ends without an answer.
    case reset
    /// It ends in the middle of one.
    case breakingOff
    case slowReader
    case idleReuse
    /// The server ends and begins again, while a connection is idle.
    case restart
    case crash
    /// The same in the middle of an answer.
    case restartInLoad
    case crashInLoad
}
