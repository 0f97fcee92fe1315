package import Foundation

/// A TLS server that can be restarted.
package protocol FarmServer: AnyObject, Sendable {
    func secureURL(_ path: String) -> URL
    func stop()
    /// Restarts it on the same port. Returns when it accepts connections.
    func restart(_ ending: ServerEnding) throws
}

/// How a server is stopped.
package enum ServerEnding: Sendable, CaseIterable {
    /// Gracefully: it may send GOAWAY or close its connections.
    case orderly
    /// As in a crash: only the kernel closes TCP connections; QUIC connections are not closed.
    case abrupt
}
