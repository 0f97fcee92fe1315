package import Foundation

/// A server over TLS that can be ended and started again.
package protocol FarmServer: AnyObject, Sendable {
    func secureURL(_ path: String) -> URL
    func stop()
    /// Ends it, and starts it again on the same port. Returns when it takes connections.
    func restart(_ ending: ServerEnding) throws
}

/// How a server ends.
package enum ServerEnding: Sendable, CaseIterable {
    /// As when somebody asks it to: it may say goodbye to its clients.
    case orderly
    /// As in a crash: nothing is said any more, but by the kernel, which knows TCP alone.
    case abrupt
}
