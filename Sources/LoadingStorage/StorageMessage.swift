internal import LoadingEvents

/// What a store has to say about its file, or its keyring: once for each change of its state, not for each thing it
/// could not do.
package enum StorageMessage: Hashable, Sendable {
    /// From now on in memory only, until the file can be written again.
    case inMemory(StorageFailure)
    /// What was kept in memory is in the file.
    case writableAgain(path: String)
    /// The file was damaged or another program's. So many of its rows were saved.
    case repaired(path: String, saved: Int, putAside: String?)
    /// A cached response was damaged, or its body was gone. It is removed, and so are others like it, of which nothing is said.
    case responseDamaged(path: String)
    /// From now on in a file, until the user's keyring can be reached again.
    case keyringUnavailable(KeyringFailure, path: String)
    /// What was kept in the file is in the keyring.
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
    /// Says it on standard error, if the process has not said the like yet.
    package static let show: @Sendable (StorageMessage) -> Void = { message in
        if StorageMessageFilter.shared.take(message) { StandardError.say(message.description) }
    }
}
