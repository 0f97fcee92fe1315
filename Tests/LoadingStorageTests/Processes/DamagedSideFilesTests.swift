import Foundation
import LoadingSemantics
import LoadingStorage
import StorageSteps
import TestSupport
import Testing

/// Another program damages the files beside a store's: a process that has the store open continues, and so does one
/// that opens it then.
@Suite(.leakChecked) struct DamagedSideFilesTests {
    private static let ends = ["-shm", "-wal", "-journal"]

    // C-36
    @Test(
        "cut or overwritten before the store is opened", arguments: ends,
        [Data(), Data([1]), Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) })])
    func before(end: String, content: Data) throws {
        let scene = try StorageScene()
        scene.cookies.apply([.stored(.persistent("a"))])
        try content.write(to: URL(fileURLWithPath: scene.cookieFile + end))
        let writer = try StorageWriterProcess.fill(.cookies, in: scene.directory.path, first: 0, count: 3)
        #expect(try writer.waitForExit() == .code(0))
        #expect(scene.storedCookies().count == 5)
        #expect(names(scene.directory.path) == ["", "-journal"].map { "url-loading-cookies.sqlite" + $0 })
    }

    // C-36: access to a truncated mapped file would raise SIGBUS
    @Test("side files truncated and overwritten while two processes store", arguments: StorageKind.stored)
    func meanwhile(kind: StorageKind) throws {
        let scene = try StorageScene()
        let file = scene.file(kind == .cookies ? "url-loading-cookies.sqlite" : "url-loading-responses.sqlite")
        let writers = try [0, 1000].map {
            try StorageWriterProcess.fill(kind, in: scene.directory.path, first: $0, count: 150)
        }
        var round = 0
        while writers.contains(where: { $0.exit == nil }) {
            for end in Self.ends { truncate(file + end, 0) }
            // The result of an interrupted copy. A log would be checkpointed by the next process that opens the store.
            if round % 50 == 0 { try Data(count: 32768).write(to: URL(fileURLWithPath: file + "-shm")) }
            truncate(file + "-shm", off_t(round % 3) * 1000)
            round += 1
        }
        for writer in writers {
            // Changes that failed because the journal was truncated are not counted.
            if case .signal = try writer.waitForExit() { Issue.record("ended by a signal") }
        }
        #expect(round > 10)
    }

    // C-36
    @Test("the database is truncated while a process stores") func cutStore() throws {
        let scene = try StorageScene()
        let writer = try StorageWriterProcess.fill(.cookies, in: scene.directory.path, first: 0, count: 150)
        while writer.exit == nil { truncate(scene.cookieFile, 1000) }
        // Changes that failed are not counted.
        if case .signal = try writer.waitForExit() { Issue.record("ended by a signal") }
        #expect(scene.cookies.apply([.stored(.persistent("a"))]))
        #expect(scene.storedCookies().contains(.persistent("a")))
    }
}

extension StorageKind {
    /// One store of each file layout.
    fileprivate static let stored: [StorageKind] = [.cookies, .responses]
}
