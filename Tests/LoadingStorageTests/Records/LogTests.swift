import Foundation
import LoadingSemantics
import TestSupport
import Testing

@testable import LoadingStorage

/// Files that have a log (SQLite's WAL) from an earlier release or from another program. Its shared memory is never
/// mapped.
@Suite(.leakChecked) struct LogTests {
    private let scene: StorageScene

    init() throws {
        scene = try StorageScene()
        scene.cookies.apply([.stored(.persistent("a")), .stored(.persistent("b"))])
    }

    private func sharedMemory() -> String? { names(scene.directory.path).first { $0.hasSuffix("-shm") } }

    // C-36, COOK-17
    @Test("records that are only in the log are moved into the file") func conversion() throws {
        let other = try OtherConnection(scene.cookieFile)
        try other.execute("PRAGMA journal_mode=WAL; DELETE FROM cookies WHERE name = 'b'")
        // The state that a killed process leaves.
        let copy = try StorageScene()
        for end in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: scene.cookieFile + end, toPath: copy.cookieFile + end)
        }
        try Data("garbage".utf8).write(to: URL(fileURLWithPath: copy.cookieFile + "-shm"))
        withExtendedLifetime(other) {}
        #expect(copy.cookies.load() == [.persistent("a")])
        #expect(copy.cookies.apply([.stored(.persistent("c"))]))
        #expect(copy.storedCookies() == [.persistent("a"), .persistent("c")])
        #expect(names(copy.directory.path) == ["", "-journal"].map { "url-loading-cookies.sqlite" + $0 })
        #expect(copy.messages.events == [])
    }

    @Test("a log that another program creates while the file is open") func begunMeanwhile() throws {
        let archive = scene.cookies
        #expect(archive.load().count == 2)
        do {
            let other = try OtherConnection(scene.cookieFile)
            try other.execute("PRAGMA journal_mode=WAL; DELETE FROM cookies WHERE name = 'b'")
        }
        #expect(archive.load() == [.persistent("a")])
        #expect(archive.apply([.stored(.persistent("c"))]))
        #expect(scene.storedCookies() == [.persistent("a"), .persistent("c")])
        #expect(scene.messages.events == [])
        #expect(sharedMemory() == nil)
    }

    @Test("changes wait while another program has the file open with a log") func heldByAnother() throws {
        let archive = scene.cookies
        do {
            let other = try OtherConnection(scene.cookieFile)
            try other.execute("PRAGMA journal_mode=WAL; DELETE FROM cookies WHERE name = 'b'")
            #expect(!archive.apply([.stored(.persistent("c"))]))
            #expect(archive.writeFailure?.isBusy == true)
            withExtendedLifetime(other) {}
        }
        #expect(archive.flush())
        #expect(scene.storedCookies() == [.persistent("a"), .persistent("c")])
        #expect(sharedMemory() == nil)
    }
}
