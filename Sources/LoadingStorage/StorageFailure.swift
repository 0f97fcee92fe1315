internal import CLoadingSQLite
internal import Glibc

/// The failure of a file operation: the operation, the file and the reason, never the content.
package struct StorageFailure: Error, Hashable, Sendable {
    package enum Action: String, Sendable {
        case locate, make, open, read, write, remove
    }

    package enum Reason: Hashable, Sendable {
        /// An errno.
        case system(Int32)
        /// A result of SQLite.
        case database(Int32)
        /// A newer release has written the file.
        case newer(version: Int64)
        /// The file belongs to another program, or is not a regular file.
        case foreign
        /// Another user owns the file, or can replace it.
        case untrusted
        /// The library of that name is missing.
        case library(String)
    }

    /// How the failure can be resolved.
    package enum Remedy: Hashable, Sendable {
        /// Temporary: lack of space, a lock, or permissions.
        case tryAgain
        /// The readable content can be saved to a new file.
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

    /// Whether another process has locked the file.
    package var isBusy: Bool {
        if case .database(let code) = reason { code & 0xFF == SQLITE_BUSY } else { false }
    }

    /// Whether SQLite cannot open a file beside the main one, which happens after another program switched to WAL mode.
    var isOfSideFile: Bool {
        if case .database(let code) = reason { code & 0xFF == SQLITE_CANTOPEN } else { false }
    }

    /// Whether the file can be read but not written.
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
        // The message of the connection could quote stored values.
        case .database(let code): "\(clq_message(code).map { String(cString: $0) } ?? "error") (\(code))"
        case .newer(let version): "a later release has written it (version \(version))"
        case .foreign: "it is not this library's"
        case .untrusted: "another user owns it or may replace it"
        case .library(let name): "\(name) is missing"
        }
    }
}
