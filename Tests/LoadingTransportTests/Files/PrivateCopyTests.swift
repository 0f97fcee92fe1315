import Foundation
import Glibc
import LoadingTransport
import TestSupport
import Testing

/// Copies of files that a background transfer sends.
@Suite(.leakChecked) struct PrivateCopyTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// The code of the failure to open a file, and the errno that it leaves: EBADF if a descriptor was closed that is
    /// not open, and which another thread may have been given meanwhile.
    private static func failure(at path: String) -> [Int32?] {
        var code: Int32?
        errno = 0
        do throws(LoadingTransport.POSIXFailure) { _ = try PrivateCopy.Original(path: path) } catch {
            code = error.code
        }
        return [code, errno]
    }

    // BG-2, ERR-8
    @Test("what is no file is closed once") func noFile() {
        #expect(Self.failure(at: folder.path) == [EISDIR, 0])
        let pipe = folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(Self.failure(at: pipe) == [EINVAL, 0])
        #expect(Self.failure(at: folder.path + "/missing") == [ENOENT, ENOENT])
        // The system would take the zero byte for the end of the path.
        #expect(Self.failure(at: "/proc/version\0x") == [ENOENT, 0])
    }

    // BG-2
    @Test("a copy has all bytes, also of a file whose reported size is 0") func copied() throws {
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let file = try folder.write(content, to: "file")
        try PrivateCopy.make(PrivateCopy.Original(path: file.path), at: folder.path + "/copy")
        #expect(try Data(contentsOf: folder.file("copy")) == content)
        try PrivateCopy.make(PrivateCopy.Original(path: "/proc/version"), at: folder.path + "/version")
        #expect(try String(contentsOf: folder.file("version"), encoding: .utf8).hasPrefix("Linux version "))
    }

    // RES-13: for an upload that resumes with it
    @Test("a copy has the time of its original", arguments: [false, true]) func time(isAtOnce: Bool) throws {
        let file = try folder.write("content", to: "file")
        let times = [
            timespec(tv_sec: 1_000_000_000, tv_nsec: 123_456_789), timespec(tv_sec: 981_173_106, tv_nsec: 987_654_321),
        ]
        #expect(utimensat(AT_FDCWD, file.path, times, 0) == 0)
        let original = try PrivateCopy.Original(path: file.path)
        let path = folder.path + "/copy"
        if isAtOnce {
            #expect(PrivateCopy.makeAtOnce(original, at: path))
        } else {
            try PrivateCopy.make(original, at: path)
        }
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect((status.st_mtim.tv_sec, status.st_mtim.tv_nsec) == (981_173_106, 987_654_321))
    }

    // BG-2: the program's thread waits for it
    @Test("what is copied at once is short, whatever its reported size") func atOnce() throws {
        let original = try PrivateCopy.Original(path: "/proc/version")
        let path = folder.path + "/version"
        #expect(!PrivateCopy.makeAtOnce(original, at: path, most: 13))
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(PrivateCopy.makeAtOnce(original, at: path))
        #expect(try String(contentsOf: folder.file("version"), encoding: .utf8).hasPrefix("Linux version "))
    }
}
