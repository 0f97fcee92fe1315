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
