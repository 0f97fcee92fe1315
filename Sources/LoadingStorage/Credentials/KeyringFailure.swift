/// Why the keyring could not be used. Never contains credentials.
package enum KeyringFailure: Error, Hashable, Sendable {
    /// The library, the bus or the service is missing.
    case absent
    /// Locked, and not unlocked in time, or the user declined.
    case locked
    /// Timeout.
    case silent
    case failed
}

extension KeyringFailure: CustomStringConvertible {
    package var description: String {
        switch self {
        case .absent: "there is no keyring"
        case .locked: "the keyring is locked"
        case .silent: "the keyring does not answer"
        case .failed: "the keyring does not do what it is asked"
        }
    }
}
