import Foundation
import TestSupport
import Testing

@testable import LoadingTransport

@Suite(.leakChecked) struct UnfinishedFilesTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted()
    }

    // RES-10: files of a killed process
    @Test("old download files are removed, other files are kept") func oldFiles() throws {
        func make(_ name: String, days: Double) throws {
            let file = try folder.write("content", to: name)
            let date = Date(timeIntervalSinceNow: -days * 86400)
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        }
        try make("CFNetworkDownload_old000.tmp", days: 7.1)
        try make("CFNetworkDownload_new000.tmp", days: 6.9)
        try make("CFNetworkDownload_locked.tmp", days: 8)
        // Complete files and the application's own files.
        try make("CFNetworkDownload-kept00.tmp", days: 8)
        try make("CFNetworkDownload_other0", days: 8)
        try make("another.tmp", days: 8)
        try make("target", days: 8)
        symlink(folder.file("target").path, folder.file("CFNetworkDownload_link00.tmp").path)
        mkdir(folder.file("CFNetworkDownload_folder.tmp").path, 0o700)
        let writer = open(folder.file("CFNetworkDownload_locked.tmp").path, O_WRONLY)
        defer { close(writer) }
        try #require(flock(writer, LOCK_EX | LOCK_NB) == 0)
        let before = names
        UnfinishedFiles.removeOld(in: folder.path)
        #expect(Set(before).subtracting(names) == ["CFNetworkDownload_old000.tmp"])
        UnfinishedFiles.removeOld(in: folder.file("missing").path)
    }

    // RES-1: there may be resume data of all others
    @Test("a file that a killed process was writing is removed after a minute") func abandonedFiles() throws {
        func make(_ name: String, seconds: Double, mode: Int = 0o1600) throws {
            let file = try folder.write("content", to: "CFNetworkDownload_\(name).tmp")
            let date = Date(timeIntervalSinceNow: -seconds)
            try FileManager.default.setAttributes(
                [.modificationDate: date, .posixPermissions: mode], ofItemAtPath: file.path)
        }
        try make("dead00", seconds: 62)
        try make("young0", seconds: 30)
        try make("known0", seconds: 62, mode: 0o600)
        try make("locked", seconds: 62)
        let writer = open(folder.file("CFNetworkDownload_locked.tmp").path, O_WRONLY)
        defer { close(writer) }
        try #require(flock(writer, LOCK_EX | LOCK_NB) == 0)
        let before = names
        UnfinishedFiles.removeOld(in: folder.path)
        #expect(names == before)
        UnfinishedFiles.removeOld(in: folder.path, includesAbandoned: true)
        #expect(Set(before).subtracting(names) == ["CFNetworkDownload_dead00.tmp"])
    }

    private func isAbandonable(_ path: String) throws -> Bool {
        var status = stat()
        try #require(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        return status.st_mode & S_ISVTX != 0
    }

    // RES-1
    @Test("a file is abandonable until it is closed or a program can resume it") func abandonable() throws {
        let destination = FileWriter.Destination.newFile(inFolder: folder.path)
        let closed = try OpenFile(destination)
        defer { closed.remove() }
        try closed.write(Data("content".utf8))
        #expect(try isAbandonable(closed.path))
        try closed.close()
        #expect(try !isAbandonable(closed.path))

        let underWay = try OpenFile(destination)
        defer { underWay.remove() }
        UnfinishedFiles.shared.keep(named: FileWriter.name(of: underWay.path))
        #expect(try !isAbandonable(underWay.path))

        var released: OpenFile? = try OpenFile(destination)
        let path = try #require(released?.path)
        #expect(try isAbandonable(path))
        released = nil
        #expect(try !isAbandonable(path))

        chmod(path, 0o1600)
        let resumed = try OpenFile(.existing(path: path, offset: 0))
        defer { resumed.remove() }
        #expect(try !isAbandonable(path))
    }

    // RES-12
    @Test("a file that is kept is not removed") func kept() throws {
        let files = UnfinishedFiles.shared
        let paths = try ["one", "two", "three"].map { try folder.write("content", to: $0).path }
        for path in paths { files.add(path) }
        let claims = try paths.map { try #require(files.claim(on: $0)) }
        files.keep(paths[0])
        files.keep(named: "two")
        for (path, claim) in zip(paths, claims) { files.remove(path, of: claim) }
        #expect(names == ["one", "two"])
        #expect(files.claim(on: paths[0]) == nil)
        files.remove(paths[0])
        #expect(names == ["two"])
    }

    // RES-9: an abandoned download does not remove the file from the one that resumes it
    @Test("an old claim does not hold once another download has the file") func outdatedClaim() throws {
        let files = UnfinishedFiles.shared
        let path = try folder.write("content", to: "one").path
        files.add(path)
        let old = try #require(files.claim(on: path))
        files.keep(path)
        files.add(path)
        files.remove(path, of: old)
        #expect(names == ["one"])
        files.remove(path, of: try #require(files.claim(on: path)))
        #expect(names == [])
    }
}
