/// Why the keyring could not be used. Never what was to be kept in it.
package enum KeyringFailure: Error, Hashable, Sendable {
    /// There is no library, no bus, or no service on it.
    case absent
    /// And it was not unlocked, or that was declined.
    case locked
    /// No answer in time.
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
