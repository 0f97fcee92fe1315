import Foundation
import LoadingTransport
import TestSupport
import Testing

/// `FileWriter` without a network: its reports, and the contents of the file.
@Suite struct FileWriterTests {
    private final class Observer: FileWriterObserver {
        let written = EventRecorder<Int64>()
        let closed = EventRecorder<Result<String, FileWriter.Failure>>()

        func fileWriterWrote(_ count: Int64, hasRoom: Bool) { written.record(count) }
        func fileWriterClosed(_ outcome: Result<String, FileWriter.Failure>) { closed.record(outcome) }
    }

    /// The sum of the reported bytes and the result of these calls.
    private func outcome(
        _ place: FileWriter.Destination, _ orders: @escaping @Sendable (FileWriter) -> Void
    ) async throws -> (written: Int64, closed: Result<String, FileWriter.Failure>) {
        let loop = EventLoops.assign()
        let recorder = Observer()
        let observer = LoopBox(recorder, on: loop)
        let writer = FileWriter(place, on: loop)
        let (written, closed) = (recorder.written, recorder.closed)
        loop.post {
            writer.observer = observer.value
            orders(writer)
            writer.close()
        }
        let ends = try await closed.waitUntil("the end") { !$0.isEmpty }
        // Everything posted before has been reported: a second end would have been as well.
        await withCheckedContinuation { continuation in loop.post { continuation.resume() } }
        #expect(closed.events.count == 1)
        withExtendedLifetime(observer) {}
        return (written.events.reduce(0, +), ends[0])
    }

    // S-70
    @Test("pieces are written in order") func piecesInOrder() async throws {
        let folder = try TemporaryDirectory()
        let (written, closed) = try await outcome(.newFile(inFolder: folder.path)) { writer in
            for piece in ["a", "bc", "", "def"] { _ = writer.write(Data(piece.utf8)) }
        }
        let path = try closed.get()
        #expect(written == 6)
        #expect(path.hasPrefix(folder.path + "/CFNetworkDownload_") && path.hasSuffix(".tmp"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("abcdef".utf8))
    }

    // RES-4: bytes behind the offset were never confirmed
    @Test("writing continues at an offset of a file") func goingOnInAFile() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("abcdef", to: "known")
        let (_, closed) = try await outcome(.existing(path: file.path, offset: 3)) { _ = $0.write(Data("xy".utf8)) }
        #expect(closed == .success(file.path))
        #expect(try Data(contentsOf: file) == Data("abcxy".utf8))
    }

    // RES-5: a reader of the old file never reads the new contents as its own
    @Test("a new file replaces another") func newFileReplacesAnother() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("abcdef", to: "known")
        let (_, closed) = try await outcome(.replacement(inFolder: folder.path, of: file.path)) {
            _ = $0.write(Data("xy".utf8))
        }
        let path = try closed.get()
        #expect(path != file.path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 1)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("xy".utf8))
    }

    // ERR-8
    @Test("a missing folder") func missingFolder() async throws {
        let (written, closed) = try await outcome(.newFile(inFolder: "/nonexistent")) {
            _ = $0.write(Data("a".utf8))
            _ = $0.write(Data("b".utf8))
        }
        #expect(written == 2)
        #expect(closed == .failure(.creating(POSIXFailure(ENOENT))))
    }

    // ERR-8
    @Test("a missing file") func missingFile() async throws {
        let (_, closed) = try await outcome(.existing(path: "/nonexistent/file", offset: 1)) { _ in }
        #expect(closed == .failure(.opening(POSIXFailure(ENOENT))))
    }

    // RES-1: the gap is not filled with zeros
    @Test("a file shorter than the offset") func fileShorterThanOffset() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("abc", to: "known")
        let (_, closed) = try await outcome(.existing(path: file.path, offset: 4)) { _ = $0.write(Data("xy".utf8)) }
        #expect(closed == .failure(.opening(POSIXFailure(ESTALE))))
        #expect(try Data(contentsOf: file) == Data("abc".utf8))
    }

    /// What there may be in place of a file, in a folder in which others may write.
    enum Impostor: CaseIterable, Sendable {
        case pipe, pipeWithReader, writableByGroup, writableByAll, secondName, ofAnother

        func put(at path: String) throws {
            if self != .pipe, self != .pipeWithReader { try Data("abcdef".utf8).write(to: URL(fileURLWithPath: path)) }
            switch self {
            case .pipe, .pipeWithReader: try #require(mkfifo(path, 0o600) == 0)
            case .writableByGroup: try #require(chmod(path, 0o620) == 0)
            case .writableByAll: try #require(chmod(path, 0o602) == 0)
            case .secondName: try #require(link(path, path + ".other") == 0)
            case .ofAnother: try #require(chown(path, geteuid() + 1, getegid()) == 0)
            }
        }
    }

    // RES-5: in a folder of all users, another one may have put it there after a cleaning
    @Test("what is not the file of before", arguments: Impostor.allCases.filter { $0 != .ofAnother || geteuid() == 0 })
    func impostors(_ impostor: Impostor) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/known"
        try #require(chmod(folder.path, 0o1777) == 0)
        try impostor.put(at: path)
        let reader = impostor == .pipeWithReader ? open(path, O_RDONLY | O_NONBLOCK) : -1
        defer { if reader >= 0 { close(reader) } }
        let (_, closed) = try await outcome(.existing(path: path, offset: 3)) { _ = $0.write(Data("xy".utf8)) }
        guard case .failure(.opening) = closed else {
            Issue.record("\(closed)")
            return
        }
        guard impostor != .pipe, impostor != .pipeWithReader else { return }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("abcdef".utf8))
    }

    // RES-5: some file systems have no owners and modes
    @Test("a file that others may write to, in a folder in which they may not") func foldersOfOne() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("abcdef", to: "known")
        try #require(chmod(file.path, 0o666) == 0)
        let (_, closed) = try await outcome(.existing(path: file.path, offset: 3)) { _ = $0.write(Data("xy".utf8)) }
        #expect(closed == .success(file.path))
        #expect(try Data(contentsOf: file) == Data("abcxy".utf8))
    }

    // ERR-8, RES-9: SIGXFSZ does not end the process, and the program can resume again from the bytes of before
    @Test("a file at its size limit") func fileAtItsSizeLimit() async throws {
        let folder = try TemporaryDirectory()
        let file = try folder.write("abc", to: "known")
        // The limit applies to all files of the process: it is far above the sizes that other tests write.
        let limit = 64 << 20
        truncate(file.path, off_t(limit - 10))
        var old = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &old)
        var new = old
        new.rlim_cur = rlim_t(limit)
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &new)
        defer { setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &old) }
        let (_, closed) = try await outcome(.existing(path: file.path, offset: Int64(limit) - 10)) {
            _ = $0.write(Data(count: 20))
        }
        #expect(closed == .failure(.writing(POSIXFailure(EFBIG))))
        #expect(try FileHandle(forReadingFrom: file).read(upToCount: 3) == Data("abc".utf8))
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int == limit - 10)
        let (_, resumed) = try await outcome(.existing(path: file.path, offset: 3)) { _ = $0.write(Data("de".utf8)) }
        #expect(resumed == .success(file.path))
        #expect(try Data(contentsOf: file) == Data("abcde".utf8))
    }

    // CONN-22: at the limit no more is accepted until the disk has it
    @Test("back-pressure") func backPressure() async throws {
        let folder = try TemporaryDirectory()
        let answers = EventRecorder<Bool>()
        _ = try await outcome(.newFile(inFolder: folder.path)) { writer in
            for _ in 0..<5 { answers.record(writer.write(Data(count: 64 * 1024))) }
        }
        #expect(answers.events == [true, true, true, false, false])
    }

    // CONN-22: splice(2) cannot tell a full pipe from a socket without data
    @Test("the pipe is available only while it is empty") func pipeIsAvailableOnlyWhileItIsEmpty() async throws {
        let folder = try TemporaryDirectory()
        let answers = EventRecorder<Bool>()
        let loop = EventLoops.assign()
        let recorder = Observer()
        let observer = LoopBox(recorder, on: loop)
        let writer = FileWriter(.newFile(inFolder: folder.path), on: loop)
        let (written, closed) = (recorder.written, recorder.closed)
        loop.post {
            writer.observer = observer.value
            _ = writer.write(Data("ab".utf8))
            guard let entrance = writer.spliceEnd else { return answers.record(false) }
            answers.record(Glibc.write(entrance, "cd", 2) == 2)
            writer.didSplice(2)
            answers.record(writer.spliceEnd == nil)
        }
        _ = try await written.waitUntil("the bytes") { $0.reduce(0, +) == 4 }
        loop.post {
            answers.record(writer.spliceEnd != nil)
            writer.close()
        }
        let ends = try await closed.waitUntil("the end") { !$0.isEmpty }
        #expect(answers.events == [true, true, true])
        #expect(try Data(contentsOf: URL(fileURLWithPath: ends[0].get())) == Data("abcd".utf8))
        withExtendedLifetime(observer) {}
    }
}
