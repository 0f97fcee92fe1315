import CLoadingSQLite
import Testing

/// A database connection like that of another program, for statements that `Database` never executes.
final class OtherConnection {
    private let sqlite: clq_functions
    private let handle: OpaquePointer

    init(_ path: String) throws {
        sqlite = try #require(clq_load()).pointee
        var handle: OpaquePointer?
        let code = sqlite.open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil)
        self.handle = try #require(handle)
        try #require(code == SQLITE_OK)
    }

    deinit { _ = sqlite.close_v2(handle) }

    func execute(_ statements: String) throws {
        try #require(sqlite.exec(handle, statements, nil, nil, nil) == SQLITE_OK)
    }
}
