import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport

/// A folder for a store, and the store's messages.
final class StorageScene: Sendable {
    private let temporary: TemporaryDirectory?
    let directory: StorageDirectory
    let messages = EventRecorder<StorageMessage>()

    init() throws {
        let temporary = try TemporaryDirectory()
        self.temporary = temporary
        directory = StorageDirectory(path: temporary.path + "/store")
        try FileManager.default.createDirectory(
            atPath: directory.path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    init(path: String) {
        temporary = nil
        directory = StorageDirectory(path: path)
    }

    var notify: @Sendable (StorageMessage) -> Void { { [messages] in messages.record($0) } }

    var cookies: CookieArchive { CookieArchive(in: directory, notify: notify) }

    func file(_ name: String) -> String { directory.path + "/" + name }
    var cookieFile: String { file("url-loading-cookies.sqlite") }

    /// Prevents reading and writing in the folder.
    func hide() throws {
        try FileManager.default.moveItem(atPath: directory.path, toPath: directory.path + ".hidden")
        try Data().write(to: URL(fileURLWithPath: directory.path))
    }

    func show() throws {
        try FileManager.default.removeItem(atPath: directory.path)
        try FileManager.default.moveItem(atPath: directory.path + ".hidden", toPath: directory.path)
    }

    /// The contents of the file, as a new process reads them.
    func storedCookies() -> Set<Cookie> { Set(cookies.load()) }
}

extension Cookie {
    /// A persistent cookie.
    static func persistent(
        _ name: String, _ value: String = "v", domain: String = "example.org", partition: String? = nil
    ) -> Cookie {
        var cookie = Cookie(name: name, value: value, domain: domain, created: 1_700_000_000.25)
        cookie.expires = 2_000_000_000.5
        cookie.partition = partition
        return cookie
    }
}
