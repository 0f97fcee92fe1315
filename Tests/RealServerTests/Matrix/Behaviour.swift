/// A behaviour of servers that the matrix tests.
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
    /// The stream or connection ends without a response.
    case reset
    /// The stream or connection ends during a response.
    case breakingOff
    case slowReader
    case idleReuse
    /// The server restarts while a connection is idle.
    case restart
    case crash
    /// The server restarts during a response.
    case restartInLoad
    case crashInLoad
}
