internal import Glibc
package import LoadingStorage

/// Why there is no connection to the service.
package enum ServiceStartFailure: Error, Equatable, Sendable {
    /// A folder cannot be used.
    case storage(StorageFailure)
    /// The socket with that path cannot be used, with an errno.
    case socket(String, Int32)
    /// Another user listens at that path.
    case foreign(String)
    /// The program cannot be started, with an errno.
    case program(String, Int32)
    /// Another user may change the program.
    case untrustedProgram(String)
    /// Another process starts or ends the service, and does not get on with it.
    case locked(String)
}

extension ServiceStartFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .storage(let failure): "\(failure)"
        case .socket(let path, let code): "cannot connect to \(path): \(Self.text(of: code))"
        case .foreign(let path): "another user listens at \(path)"
        case .program(let path, let code): "cannot start \(path): \(Self.text(of: code))"
        case .untrustedProgram(let path): "cannot start \(path): it is missing, or another user may change it"
        case .locked(let path): "another process holds \(path)"
        }
    }

    private static func text(of code: Int32) -> String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}
