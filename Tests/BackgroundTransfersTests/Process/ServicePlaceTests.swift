import Foundation
import Glibc
import LoadingStorage
import TestSupport
import Testing

@testable import BackgroundTransfers

private let folders = ["runtime", "state", "state/files", "state/uploads", "state/spool"]

@Suite(.leakChecked) struct ServicePlaceTests {
    // BG-5 (XDG Base Directory Specification)
    @Test("places by environment") func environment() {
        let variables = ["HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/var/u"]
        let place = ServicePlace { variables[$0] }
        #expect(place.socketPath == "/run/user/7/swift-url-loading/urlsessiond.socket")
        #expect(place.state.path == "/var/u/swift-url-loading/background")
        #expect(place.files.path == "/var/u/swift-url-loading/background/files")
        let home = ServicePlace { $0 == "HOME" ? "/home/u" : nil }
        #expect(home.state.path == "/home/u/.local/state/swift-url-loading/background")
        // Relative paths must be ignored.
        #expect(ServicePlace { ["HOME": "/home/u", "XDG_STATE_HOME": "state"][$0] }.state.path == home.state.path)
    }

    private func mode(of path: String) throws -> mode_t {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return status.st_mode & 0o7777
    }

    // BG-5
    @Test("only the user can enter the folders") func modes() throws {
        let scene = try ServiceScene()
        umask(0)
        defer { umask(0o022) }
        try scene.place.make()
        for folder in folders { #expect(try mode(of: scene.directory.path + "/" + folder) == 0o700) }
        for folder in folders { chmod(scene.directory.path + "/" + folder, 0o777) }
        try scene.place.make()
        for folder in folders { #expect(try mode(of: scene.directory.path + "/" + folder) == 0o700) }
    }

    // BG-5
    @Test("a symbolic link in place of a folder is refused", arguments: folders) func links(_ folder: String) throws {
        let scene = try ServiceScene()
        let target = scene.directory.path + "/target"
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        if folder.contains("/") { mkdir(scene.state, 0o700) }
        #expect(symlink(target, scene.directory.path + "/" + folder) == 0)
        #expect(throws: StorageFailure.self) { try scene.place.make() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: target).isEmpty)
        #expect(throws: ServiceStartFailure.self) {
            try ServiceStart.connect(to: scene.place, starting: .installed("/nonexistent"))
        }
    }

    // BG-5
    @Test("a folder of another user is refused", .enabled(if: geteuid() == 0, "needs root"), arguments: folders)
    func foreign(_ folder: String) throws {
        let scene = try ServiceScene()
        try scene.place.make()
        #expect(chown(scene.directory.path + "/" + folder, 65534, 65534) == 0)
        #expect(throws: StorageFailure.self) { try scene.place.make() }
    }

    // BG-5
    @Test("links in place of the lock are refused") func lockLink() throws {
        let scene = try ServiceScene()
        try scene.place.make()
        let target = try scene.directory.write("untouched", to: "target")
        #expect(symlink(target.path, scene.place.lockPath) == 0)
        #expect(throws: ServiceStartFailure.socket(scene.place.lockPath, ELOOP)) {
            try ServiceStart.connect(to: scene.place, starting: .installed("/nonexistent"))
        }
        #expect(try String(contentsOf: target, encoding: .utf8) == "untouched")
    }

    // BG-5: a fork of the process has the lock's descriptor too
    @Test("a lock that is released is free, although its descriptor was copied") func releasedLock() throws {
        let scene = try ServiceScene()
        try scene.place.make()
        let path = scene.place.lockPath
        let lock = try #require(try ServiceLock.ifFree(at: path))
        let own = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }.first {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
        }
        let copy = dup(try #require(own))
        defer { close(copy) }
        #expect(try ServiceLock.ifFree(at: path) == nil)
        lock.release()
        let again = try ServiceLock.ifFree(at: path)
        #expect(again != nil)
        again?.release()
    }

    // BG-5: a program that other users can change is not executed
    @Test("programs that others may change are refused") func programs() throws {
        let directory = try TemporaryDirectory()
        let program = try directory.write("#!/bin/sh\n", to: "program").path
        #expect(!StorageDirectory.isTrustedProgram(program))
        chmod(program, 0o755)
        #expect(StorageDirectory.isTrustedProgram(program))
        chmod(program, 0o757)
        #expect(!StorageDirectory.isTrustedProgram(program))
        chmod(program, 0o755)
        chmod(directory.path, 0o777)
        #expect(!StorageDirectory.isTrustedProgram(program))
        #expect(!StorageDirectory.isTrustedProgram(directory.path))
        #expect(!StorageDirectory.isTrustedProgram("/nonexistent"))
    }
}
