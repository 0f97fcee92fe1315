internal import Foundation
internal import LoadingStorage

/// A credential to be kept, with what it says of itself. To make one may call the caller's code, which to compare two of
/// them does not.
struct KnownCredential {
    struct Values: Equatable {
        /// Composed, since files and keyrings compare it by its bytes.
        var user: String
        var password: String?
        var persistence: URLCredential.Persistence

        var isPersistent: Bool { persistence == .permanent }
        var isKept: Bool { persistence == .permanent || persistence == .forSession }
    }

    let object: URLCredential
    let values: Values

    /// Nil if it has no user.
    init?(_ credential: URLCredential) {
        guard let user = credential.user else { return nil }
        object = credential
        values = Values(
            user: user.precomposedStringWithCanonicalMapping, password: credential.password,
            persistence: credential.persistence)
    }

    init(_ record: PersistentCredential) {
        object = URLCredential(user: record.user, password: record.password, persistence: .permanent)
        values = Values(user: record.user, password: record.password, persistence: .permanent)
    }
}
