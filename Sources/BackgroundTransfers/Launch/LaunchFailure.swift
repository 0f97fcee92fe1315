internal import Glibc

/// Why a program could not be launched.
package enum LaunchFailure: Error, Equatable, Sendable {
    /// No program, unit or name; or one that cannot be one.
    case invalidMethod
    /// The program cannot be started. With the value of errno.
    case program(path: String, Int32)
    /// There is no session bus, or libdbus is not installed.
    case noBus(String)
    /// The bus or systemd refused. With the name of the error.
    case refused(String)
    case noReply
    /// The process has no thread, descriptor or memory left.
    case noResources

    /// For the log.
    package var reason: String {
        switch self {
        case .invalidMethod: "The session names no program, unit or name on the bus that can be launched."
        case .program(let path, let code): "\(path) cannot be started: \(String(cString: strerror(code)))."
        case .noBus(let reason): reason
        case .refused(let name): "The session bus or systemd refused the launch with \(name)."
        case .noReply: "The session bus or systemd does not answer."
        case .noResources: "The service has no thread, descriptor or memory left to launch a program."
        }
    }
}
