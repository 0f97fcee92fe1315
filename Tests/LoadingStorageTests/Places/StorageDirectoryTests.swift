import Foundation
import TestSupport
import Testing

@testable import LoadingStorage

@Suite(.leakChecked) struct StorageDirectoryTests {
    private func path(_ kind: StorageDirectory.Kind, _ environment: [String: String]) -> String {
        StorageDirectory(kind, application: "org.example.app") { environment[$0] }.path
    }

    // C-36
    @Test("the directories of the XDG Base Directory Specification") func places() {
        let home = ["HOME": "/home/u"]
        #expect(path(.cache, home) == "/home/u/.cache/org.example.app")
        #expect(path(.data, home) == "/home/u/.local/share/org.example.app")
        let all = home.merging(["XDG_CACHE_HOME": "/c", "XDG_DATA_HOME": "/d"]) { $1 }
        #expect(path(.cache, all) == "/c/org.example.app")
        #expect(path(.data, all) == "/d/org.example.app")
    }

    // C-36
    @Test("relative paths are ignored", arguments: ["", "relative", "./x", "~/x"])
    func noAbsolutePath(value: String) {
        #expect(path(.data, ["HOME": "/h", "XDG_DATA_HOME": value]) == "/h/.local/share/org.example.app")
        // The home folder then comes from the user database.
        #expect(path(.data, ["HOME": value]).hasSuffix("/.local/share/org.example.app"))
        #expect(path(.data, ["HOME": value]).hasPrefix("/"))
    }

    // C-36
    @Test(
        "any text is the name of one file",
        arguments: [
            ("org.example.app", "org.example.app"), ("a b", "a%20b"), ("..", "%2E."), (".", "%2E"), ("", "%"),
            ("../../etc", "%2E.%2F..%2Fetc"), ("%", "%25"), ("é", "%C3%A9"), ("a\0b", "a%00b"),
            (".hidden", "%2Ehidden"),
        ])
    func fileNames(text: String, name: String) {
        #expect(StorageDirectory.fileName(text) == name)
    }

    @Test("long identifiers are shortened, and stay distinct") func longNames() {
        let long = String(repeating: "x", count: 4000)
        let names = Set([long, long + "y", long + "z"].map(StorageDirectory.fileName))
        #expect(names.count == 3)
        #expect(names.allSatisfy { $0.utf8.count <= 255 && !$0.contains("/") })
    }

    // C-36: also the folders above it
    @Test("folders are accessible to their owner only") func modes() throws {
        let temporary = try TemporaryDirectory()
        let directory = StorageDirectory(.data, application: "app") { _ in temporary.path + "/a/b" }
        let before = umask(0)
        defer { umask(before) }
        let made = try directory.make()
        #expect(made.hasSuffix("/a/b/app"))
        for folder in ["a", "a/b", "a/b/app"] { #expect(mode(temporary.file(folder).path) == 0o700) }
        #expect(try directory.make() == made)
        // An existing folder that others can write to.
        chmod(made, 0o777)
        #expect(try directory.make() == made)
        #expect(mode(made) == 0o755)
    }

    // C-34: neither identifier can imitate the other
    @Test("a group's folder differs from any application's") func groupFolder() throws {
        let temporary = try TemporaryDirectory()
        let group = try StorageDirectory(.data, group: "a") { _ in temporary.path }.make()
        for name in ["a", "group-a", "%group-a", "%25group-a"] {
            #expect(try StorageDirectory(.data, application: name) { _ in temporary.path }.make() != group)
        }
    }

    @Test("the permissions of a folder chosen by the caller are not changed") func callersFolder() throws {
        let temporary = try TemporaryDirectory()
        chmod(temporary.path, 0o775)
        _ = try StorageDirectory(path: temporary.path).make()
        #expect(mode(temporary.path) == 0o775)
        #expect(try StorageDirectory(path: temporary.path + "//x//").make().hasSuffix("/x"))
    }

    @Test("a symbolic link instead of the folder is not followed") func linkedFolder() throws {
        let temporary = try TemporaryDirectory()
        let target = temporary.file("target").path
        mkdir(target, 0o755)
        symlink(target, temporary.file("link").path)
        let link = temporary.file("link").path
        #expect(throws: StorageFailure(.open, link, .system(ENOTDIR))) { try StorageDirectory(path: link).make() }
        // Links in the parent folders are allowed: moved home folders use them.
        #expect(try StorageDirectory(path: link + "/app").make() == realPath(target) + "/app")
        #expect(mode(target + "/app") == 0o700)
    }

    private func realPath(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    @Test("a file instead of a folder, and a folder without write permission") func noFolder() throws {
        let temporary = try TemporaryDirectory()
        let file = try temporary.write("text", to: "file").path
        #expect(throws: StorageFailure(.open, file, .system(ENOTDIR))) { try StorageDirectory(path: file).make() }
        #expect(throws: StorageFailure(.make, file + "/x", .system(ENOTDIR))) {
            try StorageDirectory(path: file + "/x/y").make()
        }
        #expect(throws: StorageFailure.self) { try StorageDirectory(path: "/sys/kernel/url-loading").make() }
        #expect(throws: StorageFailure(.locate, "", .system(ENOENT))) { try StorageDirectory(path: "").make() }
        #expect(throws: StorageFailure(.locate, "", .system(ENOENT))) { try StorageDirectory(path: "/a\0b").make() }
    }

    // C-36
    @Test("a file is created with its final permissions") func claimedFile() throws {
        let path = try TemporaryDirectory().withFile("file") { path in
            let before = umask(0)
            defer { umask(before) }
            try StorageDirectory.claimFile(path)
            #expect(mode(path) == 0o600)
            #expect(contents(path) == Data())
            // An existing file that others can read.
            try Data("content".utf8).write(to: URL(fileURLWithPath: path))
            chmod(path, 0o644)
            try StorageDirectory.claimFile(path)
            #expect(mode(path) == 0o600)
            #expect(contents(path) == Data("content".utf8))
        }
        #expect(mode(path) == nil)
    }

    @Test("only regular files are opened") func notAFile() throws {
        let temporary = try TemporaryDirectory()
        let target = try temporary.write("secret", to: "target").path
        chmod(target, 0o644)
        let path = temporary.file("file").path
        symlink(target, path)
        #expect(throws: StorageFailure(.open, path, .foreign)) { try StorageDirectory.claimFile(path) }
        #expect(mode(target) == 0o644)
        unlink(path)
        // A dangling link, whose target open(2) would create.
        symlink(temporary.file("planted").path, path)
        #expect(throws: StorageFailure(.open, path, .foreign)) { try StorageDirectory.claimFile(path) }
        #expect(mode(temporary.file("planted").path) == nil)
        unlink(path)
        mkfifo(path, 0o600)
        #expect(throws: StorageFailure(.open, path, .foreign)) { try StorageDirectory.claimFile(path) }
    }
}

extension TemporaryDirectory {
    /// The path of a folder that has been removed.
    fileprivate func withFile(_ name: String, _ body: (String) throws -> Void) rethrows -> String {
        try body(file(name).path)
        return file(name).path
    }
}
