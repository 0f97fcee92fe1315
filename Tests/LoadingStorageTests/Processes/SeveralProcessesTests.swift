import Foundation
import LoadingSemantics
import LoadingStorage
import StorageSteps
import Synchronization
import TestSupport
import Testing

@Suite(.leakChecked) struct SeveralProcessesTests {
    @Test("three processes that store cookies at the same time lose none") func cookies() throws {
        let scene = try StorageScene()
        let archive = scene.cookies
        let writers = try [0, 1000, 2000].map {
            try StorageWriterProcess.fill(.cookies, in: scene.directory.path, first: $0, count: 60)
        }
        for writer in writers { #expect(try writer.waitForExit() == .code(0)) }
        #expect(archive.hasExternalChanges())
        let names = Set(archive.load().map(\.name))
        #expect(names == Set([0, 1000, 2000].flatMap { first in (first..<first + 60).map { "c\($0)" } } + ["c-1"]))
        #expect(scene.messages.events == [])
    }

    @Test("two processes that store responses at the same time lose none") func responses() throws {
        let scene = try StorageScene()
        let archive = ResponseArchive(in: scene.directory, capacity: 1 << 30, notify: scene.notify)
        let writers = try [0, 100].map {
            try StorageWriterProcess.fill(.responses, in: scene.directory.path, first: $0, count: 60)
        }
        for writer in writers { #expect(try writer.waitForExit() == .code(0)) }
        var size: Int64 = 0
        for number in Array(0..<60) + Array(100..<160) {
            let entry = try #require(archive.entry(for: ResponseSteps.key(number)))
            #expect(archive.body(of: entry) == ResponseSteps.body(number, number % 3 == 0 ? 20_000 : 500))
            size += entry.bodyCount
        }
        #expect(archive.usage > size)
        #expect(names(scene.file("url-loading-responses")).count == 40)
        // Responses that another process has removed are not found.
        ResponseArchive(in: scene.directory, capacity: 1 << 30).remove(ResponseSteps.key(3))
        #expect(archive.entry(for: ResponseSteps.key(3)) == nil)
        #expect(names(scene.file("url-loading-responses")).count == 39)
        #expect(scene.messages.events == [])
    }

    @Test("stores that create a file at the same time do not wait for each other in vain") func creation() throws {
        for _ in 0..<30 {
            let scene = try StorageScene()
            DispatchQueue.concurrentPerform(iterations: 4) { number in
                #expect(CookieArchive(in: scene.directory).apply([.stored(.persistent("c\(number)"))]))
            }
            #expect(scene.storedCookies().count == 4)
        }
    }

    /// Looks for orphaned files as another process does, when it opens the archive.
    @Test("a body that is being written is not removed as orphaned") func orphans() throws {
        let scene = try StorageScene()
        let archive = ResponseArchive(in: scene.directory, capacity: 1 << 30, notify: scene.notify)
        archive.store(ResponseSteps.head(0, 0), body: ResponseSteps.body(0, 10), for: ResponseSteps.key(0), at: 0)
        let isDone = Mutex(false)
        DispatchQueue.concurrentPerform(iterations: 2) { part in
            if part == 0 {
                while !isDone.withLock({ $0 }) {
                    let other = ResponseArchive(in: scene.directory, capacity: 1 << 30)
                    if let entry = other.entry(for: ResponseSteps.key(0)) { _ = other.update(entry, entry.head) }
                }
                return
            }
            let archive = ResponseArchive(in: scene.directory, capacity: 1 << 30, notify: scene.notify)
            for number in 1...100 {
                let (key, body) = (ResponseSteps.key(number), ResponseSteps.body(number, 20_000))
                #expect(archive.store(ResponseSteps.head(number, number), body: body, for: key, at: 1))
                #expect(archive.entry(for: key).flatMap { archive.body(of: $0) }?.count == body.count)
            }
            isDone.withLock { $0 = true }
        }
    }
}
