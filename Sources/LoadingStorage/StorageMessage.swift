internal import LoadingEvents

/// A change of the state of a store's file or keyring. Reported once per change, not for each failed operation.
package enum StorageMessage: Hashable, Sendable {
    /// The store is in memory only until the file can be written again.
    case inMemory(StorageFailure)
    /// The pending changes were written to the file.
    case writableAgain(path: String)
    /// The file was damaged or not the library's. `saved` rows were copied to a new file.
    case repaired(path: String, saved: Int, putAside: String?)
    /// A cached response was damaged or its body was missing. It is removed, as are further ones, which are not
    /// reported.
    case responseDamaged(path: String)
    /// Credentials are stored in a file until the keyring is available again.
    case keyringUnavailable(KeyringFailure, path: String)
    /// The credentials in the file were moved to the keyring.
    case keyringAvailable
}

extension StorageMessage: CustomStringConvertible {
    package var description: String {
        switch self {
        case .inMemory(let failure): "\(failure). What is stored is kept in memory"
        case .writableAgain(let path): "\(path) can be written again"
        case .repaired(let path, let saved, let aside):
            "\(path) was damaged; \(saved) rows were saved" + (aside.map { ". The damaged file is \($0)" } ?? "")
        case .responseDamaged(let path): "\(path): a response was damaged, and is not kept any more"
        case .keyringUnavailable(let failure, let path): "\(failure). Passwords are kept in \(path)"
        case .keyringAvailable: "the keyring can be used again"
        }
    }
}

extension StorageMessage {
    /// Tells the program's observer of messages, or writes the message to standard error, unless the process has
    /// written such a message before.
    package static let show: @Sendable (StorageMessage) -> Void = { message in
        if StorageMessageFilter.shared.take(message) { StandardError.report(message.description) }
    }
}
