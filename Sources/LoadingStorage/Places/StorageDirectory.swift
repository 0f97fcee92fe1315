internal import CLoadingLinux
internal import Glibc

/// A folder that stores keep their files in, for this user's eyes only (C-36).
///
/// To name one touches no disk. A place that cannot be found, such as one in the home of a user who has none, shows
/// when the folder is made.
package struct StorageDirectory: Sendable, Hashable {
    /// What is to be kept, which says where (XDG Base Directory Specification).
    package enum Kind: Sendable {
        /// What can be had again.
        case cache
        case data

        fileprivate var variable: String {
            switch self {
            case .cache: "XDG_CACHE_HOME"
            case .data: "XDG_DATA_HOME"
            }
        }

        fileprivate var folderOfHome: String {
            switch self {
            case .cache: "/.cache"
            case .data: "/.local/share"
            }
        }
    }

    private let location: Result<String, StorageFailure>
    /// Whose rights are the caller's business.
    private let isCallers: Bool

    /// A folder of the caller's choice.
    package init(path: String) {
        // What C would read as a shorter path is none.
        let isPath = !path.isEmpty && !path.utf8.contains(0)
        location = isPath ? .success(path) : .failure(StorageFailure(.locate, "", .system(ENOENT)))
        isCallers = true
    }

    /// The folder of an application.
    ///
    /// - Parameters:
    ///   - application: What it is known by; any text.
    ///   - environment: Gives the value of a variable.
    package init(_ kind: Kind, application: String, environment: (String) -> String? = Self.variable) {
        self.init(kind, name: Self.fileName(application), environment)
    }

    /// The folder of a group of applications, which is no application's of that name.
    package init(_ kind: Kind, group: String, environment: (String) -> String? = Self.variable) {
        self.init(kind, name: "%group-" + Self.fileName(group), environment)
    }

    private init(_ kind: Kind, name: String, _ environment: (String) -> String?) {
        // A path that is not absolute is to be ignored.
        if let base = environment(kind.variable), base.hasPrefix("/") {
            location = .success(base + "/" + name)
        } else if let home = environment("HOME"), home.hasPrefix("/") {
            location = .success(home + kind.folderOfHome + "/" + name)
        } else if let home = Self.homeOfUser() {
            location = .success(home + kind.folderOfHome + "/" + name)
        } else {
            location = .failure(StorageFailure(.locate, "~" + kind.folderOfHome + "/" + name, .system(ENOENT)))
        }
        isCallers = false
    }

    private init(location: Result<String, StorageFailure>, isCallers: Bool) {
        self.location = location
        self.isCallers = isCallers
    }

    /// Where it is, or would be.
    package var path: String {
        switch location {
        case .success(let path): path
        case .failure(let failure): failure.path
        }
    }

    package func folder(_ name: String) -> StorageDirectory {
        StorageDirectory(location: location.map { $0 + "/" + name }, isCallers: false)
    }

    /// Whether there may be a file of that design: false if it is certain that there is none. One system call.
    package func mayHold(_ design: DatabaseDesign) -> Bool {
        guard case .success(let path) = location else { return false }
        return access(path + "/" + design.name, F_OK) == 0 || cll_errno() != ENOENT
    }

    /// Makes the folder if need be, with those above it, and gives its path without links. Fails if another user than root
    /// may put something else in the place of what is in it.
    package func make() throws(StorageFailure) -> String {
        let path = Self.trimmed(try location.get())
        try Self.makeFolders(above: path)
        if mkdir(path, 0o700) != 0, cll_errno() != EEXIST {
            let code = cll_errno()
            // A file system that is read-only says so first, also of what is there.
            guard code == EROFS || code == EACCES, access(path, F_OK) == 0 else {
                throw StorageFailure(.make, path, .system(code))
            }
        }
        let place = try PathHandle(path)
        guard place.isFolder else { throw StorageFailure(.open, path, .system(ENOTDIR)) }
        // Somebody who may write here could put another file in the place of one that is about to be made. Who may look
        // is up to whoever made the folder: the files are for this user alone.
        if !isCallers, place.isOwn, place.mode & 0o022 != 0 { place.setMode(place.mode & 0o7755) }
        guard let real = realpath(path, nil) else { throw StorageFailure(.open, path, .system(cll_errno())) }
        defer { free(real) }
        let found = String(cString: real)
        try Self.checkFolders(to: found)
        return found
    }

    /// Whoever owns a folder, or may write to it, may rename what is in it, be it a folder too. So each one counts, up to
    /// the root.
    private static func checkFolders(to path: String) throws(StorageFailure) {
        guard try PathHandle(path).isTrustedStore else { throw StorageFailure(.open, path, .untrusted) }
        var path = Substring(path)
        while true {
            let folder = path.isEmpty ? "/" : String(path)
            guard try PathHandle(folder).isTrustedFolder else { throw StorageFailure(.open, folder, .untrusted) }
            guard let end = path.lastIndex(of: "/") else { return }
            path = path[..<end]
        }
    }

    /// Has an empty file there if none is, with its mode from the first moment on. A file that is there gets that mode.
    ///
    /// It is not opened: to close it again would undo the locks that this process holds on it.
    static func claimFile(_ path: String) throws(StorageFailure) {
        if mknod(path, S_IFREG | 0o600, 0) == 0 { return }
        let code = cll_errno()
        guard let place = try? PathHandle(path) else { throw StorageFailure(.make, path, .system(code)) }
        guard place.isFile, place.isOwn else { throw StorageFailure(.open, path, .foreign) }
        if place.mode & 0o077 != 0 { place.setMode(0o600) }
    }

    /// Has a file that SQLite keeps beside another be this user's, if there is one. What is no plain file, or another user's
    /// from a time when the folder was open to others, goes.
    static func claimSideFile(_ path: String) throws(StorageFailure) {
        guard let place = try? PathHandle(path) else { return }
        if place.isFile, place.isOwn {
            if place.mode & 0o077 != 0 { place.setMode(0o600) }
            return
        }
        guard unlink(path) == 0 || rmdir(path) == 0 || cll_errno() == ENOENT else {
            throw StorageFailure(.open, path, .untrusted)
        }
    }

    // MARK: Names and places

    /// Distinct for distinct texts, and the name of nothing but a file of this folder.
    static func fileName(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var name: [UInt8] = []
        for (index, byte) in text.utf8.enumerated() {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                name.append(byte)
            case UInt8(ascii: ".") where index > 0:
                name.append(byte)
            default:
                name += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        if name.isEmpty { return "%" }
        // File systems take 255 bytes.
        if name.count > 200 {
            let rest = Checksum.of(bytes: name)
            name.removeSubrange(180...)
            name += "%-\(UInt64(bitPattern: rest))".utf8
        }
        return String(decoding: name, as: UTF8.self)
    }

    package static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

    private static func homeOfUser() -> String? {
        var record = passwd()
        var found: UnsafeMutablePointer<passwd>?
        var text = [CChar](repeating: 0, count: 16384)
        return text.withUnsafeMutableBufferPointer { text in
            guard let buffer = text.baseAddress, getpwuid_r(geteuid(), &record, buffer, text.count, &found) == 0,
                let home = found?.pointee.pw_dir.map({ String(cString: $0) }), home.hasPrefix("/")
            else { return nil }
            return home
        }
    }

    private static func trimmed(_ path: String) -> String {
        var path = Substring(path)
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return String(path)
    }

    private static func makeFolders(above path: String) throws(StorageFailure) {
        let parts = path.split(separator: "/").dropLast()
        var parent = path.hasPrefix("/") ? "" : "."
        for part in parts {
            parent += "/" + part
            if access(parent, F_OK) == 0 { continue }
            if mkdir(parent, 0o700) != 0, cll_errno() != EEXIST {
                throw StorageFailure(.make, parent, .system(cll_errno()))
            }
        }
    }
}
