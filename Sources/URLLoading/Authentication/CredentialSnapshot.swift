internal import Foundation
internal import LoadingStorage

/// A credential with its properties read in advance. Creating it may run the program's code; comparing does not.
struct CredentialSnapshot {
    struct Values: Equatable {
        /// Unicode-composed (NFC), because files and keyrings compare bytes.
        var user: String
        var password: String?
        var persistence: URLCredential.Persistence

        var isPersistent: Bool { persistence == .permanent }
        var isKept: Bool { persistence == .permanent || persistence == .forSession }
    }

    let object: URLCredential
    let values: Values

    /// Nil without a user.
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
