import Foundation
import Glibc
import TestSupport
import Testing
import URLLoading

/// Back-pressure: a slow consumer blocks the server, with bounded buffers (T-65, CONN-22, law 4).
@Suite(.leavesNothing) struct BackPressureTests {
    /// The maximum number of bytes buffered between a server and a stopped reader, in kernels and the library. How many
    /// the kernels take depends on load, so these are the most that they may take.
    private static let most = kernelBuffer("tcp_rmem") + kernelBuffer("tcp_wmem") + 4_000_000
    private static let bodySize = most + 20_000_000
    /// The memory limit: a few buffers, plus noise of allocators and other threads; more with a sanitizer.
    private static let mostMemory = 24_000_000

    private func makeServer() throws -> ScriptedServer {
        try ScriptedServer.answering(.bytes([UInt8](repeating: 0, count: Self.bodySize)))
    }

    /// The largest size that the kernel gives a buffer of a connection by itself, in bytes.
    private static func kernelBuffer(_ name: String) -> Int {
        let sizes = try? String(contentsOfFile: "/proc/sys/net/ipv4/" + name, encoding: .utf8)
        return sizes?.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) } ?? 6_291_456
    }

    /// The private memory of this process, in bytes.
    private var residentMemory: Int {
        let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return pages.count > 2 ? ((Int(pages[1]) ?? 0) - (Int(pages[2]) ?? 0)) * 4096 : 0
    }

    // T-65
    @Test("a delegate that blocks", arguments: [true, false]) func aDelegateThatBlocks(hasOwnQueue: Bool)
        async throws
    {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let before = residentMemory
        let goOn = Signal("going on")
        let delegate = CountingDelegate()
        delegate.during = { count, task in
            try? goOn.wait()
            if count >= Self.bodySize { task.cancel() }
        }
        let session = URLSession(delegate, queue: hasOwnQueue ? OperationQueue(name: "delegate", width: 1) : nil)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        let accepted = try await server.connection(0).waitUntilBlocked()
        #expect(accepted < Self.most)
        #expect(residentMemory - before < Self.mostMemory)
        goOn.fire()
        try await delegate.ended.wait()
        #expect(delegate.received.current >= Self.bodySize)
        #expect(residentMemory - before < Self.mostMemory)
    }

    // T-65: slow, not still
    @Test("a slow delegate") func aSlowDelegate() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let before = residentMemory
        let peak = Watched(0)
        let delegate = CountingDelegate()
        delegate.during = { count, task in
            // What makes it slow.
            usleep(500)
            let memory = self.residentMemory
            peak.withValue { $0 = max($0, memory) }
            if count >= Self.bodySize { task.cancel() }
        }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(delegate.received.current >= Self.bodySize)
        #expect(peak.current - before < Self.mostMemory)
    }

    // T-65
    @Test("a suspended delegate queue") func aSuspendedDelegateQueue() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let queue = OperationQueue(name: "delegate", width: 1)
        queue.isSuspended = true
        let delegate = CountingDelegate()
        let session = URLSession(delegate, queue: queue)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        let accepted = try await server.connection(0).waitUntilBlocked()
        #expect(accepted < Self.most)
        #expect(delegate.received.current == 0)
        queue.isSuspended = false
        try await delegate.ended.wait()
        #expect(delegate.received.current == Self.bodySize)
    }

    // T-65: suspended within the body
    @Test("a delegate queue that is suspended later") func aDelegateQueueThatIsSuspendedLater() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let queue = OperationQueue(name: "delegate", width: 1)
        let delegate = CountingDelegate()
        delegate.during = { count, _ in if count > 1_000_000, count < 2_000_000 { queue.isSuspended = true } }
        let session = URLSession(delegate, queue: queue)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        let accepted = try await server.connection(0).waitUntilBlocked()
        #expect(accepted < Self.most)
        #expect(delegate.received.current < 4_000_000)
        while !delegate.ended.isFired {
            queue.isSuspended = false
            _ = try? await delegate.ended.wait(within: .milliseconds(50))
        }
        #expect(delegate.received.current == Self.bodySize)
    }

    // T-58, CONN-22
    @Test("unread bytes") func unreadBytes() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let session = URLSession { _ in }
        let before = residentMemory
        let (bytes, response) = try await session.bytes(from: server.url())
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        let accepted = try await server.connection(0).waitUntilBlocked()
        #expect(accepted < Self.most)
        #expect(residentMemory - before < Self.mostMemory)
        bytes.task.cancel()
        try await server.connection(0).waitForEnd()
        session.invalidateAndCancel()
    }

    // T-58
    @Test("bytes that are read after a while are all there") func bytesThatAreReadAfterAWhileAreAllThere() async throws
    {
        let pattern = [UInt8].pattern(count: 2_000_000)
        let server = try ScriptedServer.answering(.bytes(pattern))
        defer { server.stop() }
        let session = URLSession { _ in }
        let (bytes, _) = try await session.bytes(from: server.url())
        var read: [UInt8] = []
        read.reserveCapacity(pattern.count)
        for try await byte in bytes { read.append(byte) }
        #expect(read == pattern)
        session.invalidateAndCancel()
    }

    // T-65: what waits is counted in bytes, so a byte must not cost much more than itself
    @Test("tiny chunks") func tinyChunks() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunks = [UInt8]((0..<20_000).flatMap { _ in Array("1\r\nx\r\n".utf8) })
            while true { try connection.send(chunks) }
        }
        defer { server.stop() }
        let goOn = Signal("going on")
        let delegate = CountingDelegate()
        delegate.during = { _, task in
            try? goOn.wait()
            task.cancel()
        }
        let before = Memory.resident
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        _ = try await server.connection(0).waitUntilBlocked()
        #expect(Memory.resident - before < Memory.limit(8 << 20))
        goOn.fire()
        try await delegate.ended.wait()
    }
}
