internal import CLoadingSQLite
internal import Glibc

/// What could not be done with which file, and why. Never what is in it.
package struct StorageFailure: Error, Hashable, Sendable {
    package enum Action: String, Sendable {
        case locate, make, open, read, write, remove
    }

    package enum Reason: Hashable, Sendable {
        /// An errno.
        case system(Int32)
        /// An extended result code of SQLite.
        case database(Int32)
        /// A later release has written it.
        case newer(version: Int64)
        /// Another program's, or something else than a plain file.
        case foreign
        /// Another user owns it, or may put something else in its place.
        case untrusted
        /// The library of that name is missing.
        case library(String)
    }

    /// What can be done about it.
    package enum Remedy: Hashable, Sendable {
        /// It may pass: room, a lock, a right.
        case tryAgain
        /// What can be read is to be saved.
        case repair
        case none
    }

    package var action: Action
    package var path: String
    package var reason: Reason

    package init(_ action: Action, _ path: String, _ reason: Reason) {
        self.action = action
        self.path = path
        self.reason = reason
    }

    package var remedy: Remedy {
        switch reason {
        case .system, .untrusted, .library: .tryAgain
        case .newer: .none
        case .foreign: .repair
        case .database(let code):
            switch code & 0xFF {
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_ERROR, SQLITE_SCHEMA: .repair
            default: .tryAgain
            }
        }
    }

    /// Whether somebody else has the file now.
    package var isBusy: Bool {
        if case .database(let code) = reason { code & 0xFF == SQLITE_BUSY } else { false }
    }

    /// Whether a file could not be opened that SQLite needs beside the main one. So it is when another program has begun a log.
    var isOfSideFile: Bool {
        if case .database(let code) = reason { code & 0xFF == SQLITE_CANTOPEN } else { false }
    }

    /// Whether the place can be read but not be written.
    package var isReadOnly: Bool {
        switch reason {
        case .database(let code): code & 0xFF == SQLITE_READONLY || code & 0xFF == SQLITE_CANTOPEN
        case .system(let code): code == EROFS || code == EACCES || code == EPERM
        default: false
        }
    }
}

extension StorageFailure: CustomStringConvertible {
    package var description: String { "cannot \(action.rawValue) \(path): \(cause)" }

    private var cause: String {
        switch reason {
        case .system(let code): strerror(code).map { String(cString: $0) } ?? "error \(code)"
        // Not the message of the connection, which may quote what was to be stored.
        case .database(let code): "\(clq_message(code).map { String(cString: $0) } ?? "error") (\(code))"
        case .newer(let version): "a later release has written it (version \(version))"
        case .foreign: "it is not this library's"
        case .untrusted: "another user owns it or may replace it"
        case .library(let name): "\(name) is missing"
        }
    }
}
