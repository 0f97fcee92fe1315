import Foundation
import LoadingEvents
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// The async functions of a session.
@Suite(.leavesNothing) struct AsyncTests {
    // T-55
    @Test("data and response") func dataAndResponse() async throws {
        let server = try ScriptedServer.answering { .text($0.method + $0.bodyText, status: 404) }
        defer { server.stop() }
        let session = URLSession { _ in }
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data("abc".utf8)
        let (data, response) = try await session.data(for: request)
        #expect(data == Data("POSTabc".utf8))
        #expect((response as? HTTPURLResponse)?.statusCode == 404)
        session.invalidateAndCancel()
    }

    /// Where loads began.
    private func beginnings(on loop: EventLoop) -> (session: URLSession, isLoop: EventRecorder<Bool>) {
        let isLoop = EventRecorder<Bool>()
        let session = URLSession {
            $0.loop = loop
            $0.eventObserver = { event in
                if case .request(_, _) = event.kind { isLoop.record(Thread.isLoop) }
            }
        }
        return (session, isLoop)
    }

    // docs/decisions/0019-borrowed-loops.md
    @Test("a load begins on its caller's thread while the loop sleeps") func beginsOnTheCallersThread() async throws {
        let server = try ScriptedServer.answering { _ in .text("hello") }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let (session, isLoop) = beginnings(on: stepped.loop)
        defer { session.invalidateAndCancel() }
        let end = ContinuousClock.now + .testDeadline
        repeat {
            #expect(try await session.text(server.url()) == "hello")
        } while isLoop.events.last == true && ContinuousClock.now < end
        #expect(isLoop.events.last == false)
    }

    @Test("a task that is resumed begins on the loop's thread") func beginsOnTheLoopsThread() async throws {
        let server = try ScriptedServer.answering { _ in .text("hello") }
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let (session, isLoop) = beginnings(on: stepped.loop)
        defer { session.invalidateAndCancel() }
        for _ in 0..<20 {
            try await stepped.settle()
            let ends = EventRecorder<Int>()
            session.dataTask(with: server.url()) { data, _, _ in ends.record(data?.count ?? 0) }.resume()
            #expect(try await ends.waitFor(count: 1) == [5])
        }
        #expect(isLoop.count >= 20 && isLoop.events.allSatisfy(\.self))
    }

    // T-55
    @Test("failures are thrown") func failuresAreThrown() async throws {
        let refusing = try RefusingPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(refusing.port)/"))
        let session = URLSession { _ in }
        #expect(
            await #expect(throws: URLError.self) { try await session.data(from: url) }?.code == .cannotConnectToHost)
        #expect(
            await #expect(throws: URLError.self) { try await session.bytes(from: url) }?.code == .cannotConnectToHost)
        session.invalidateAndCancel()
    }

    // T-56
    @Test("cancelling the Swift task cancels the load", arguments: [true, false])
    func cancellingTheSwiftTaskCancelsTheLoad(wantsBytes: Bool) async throws {
        let never = Signal("what never comes")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: never))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let caller = Task {
            if wantsBytes {
                _ = try await session.bytes(from: server.url())
            } else {
                _ = try await session.data(from: server.url())
            }
        }
        try await server.waitForRequests(1)
        caller.cancel()
        let error = await #expect(throws: URLError.self) { try await caller.value }
        #expect(error?.code == .cancelled)
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls == [.created(1), .metrics(1), .invalid])
    }

    // T-56
    @Test("a cancelled Swift task starts nothing", arguments: [true, false]) func aCancelledSwiftTaskStartsNothing(
        wantsBytes: Bool
    ) async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let session = URLSession { _ in }
        let caller = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            if wantsBytes {
                _ = try await session.bytes(from: server.url())
            } else {
                _ = try await session.data(from: server.url())
            }
        }
        let error = await #expect(throws: URLError.self) { try await caller.value }
        #expect(error?.code == .cancelled)
        #expect(server.connectionCount == 0)
        session.invalidateAndCancel()
    }

    // T-58
    @Test("bytes are returned with the head and the task") func bytesAreReturnedWithTheHeadAndTheTask()
        async throws
    {
        let held = Signal("the body")
        let server = try ScriptedServer.answering(CannedResponse.text("hello").bodyHeld(until: held))
        defer { server.stop() }
        let session = URLSession { _ in }
        let (bytes, response) = try await session.bytes(from: server.url())
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(bytes.task.state == .running)
        #expect(await session.allTasks == [bytes.task])
        held.fire()
        var text = ""
        for try await byte in bytes { text.append(Character(UnicodeScalar(byte))) }
        #expect(text == "hello")
        #expect(bytes.task.countOfBytesReceived == 5)
        session.invalidateAndCancel()
    }

    // T-58
    @Test("lines of bytes") func linesOfBytes() async throws {
        let server = try ScriptedServer.answering(.chunked(["one\ntw", "o\n", "three"]))
        defer { server.stop() }
        let session = URLSession { _ in }
        let (bytes, _) = try await session.bytes(from: server.url())
        var iterator = bytes.makeAsyncIterator()
        var text: [UInt8] = []
        while let byte = try await iterator.next() { text.append(byte) }
        #expect(String(decoding: text, as: UTF8.self) == "one\ntwo\nthree")
        #expect(try await iterator.next() == nil)
        session.invalidateAndCancel()
    }

    // T-58: of two concurrent readers one gets an error, the other all bytes
    @Test("two readers at once") func twoReadersAtOnce() async throws {
        let held = Signal("the body")
        let server = try ScriptedServer.answering(CannedResponse.text("hello").bodyHeld(until: held))
        defer { server.stop() }
        let session = URLSession { _ in }
        let (bytes, _) = try await session.bytes(from: server.url())
        let outcomes = await withTaskGroup(of: String.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    do {
                        var text: [UInt8] = []
                        for try await byte in bytes { text.append(byte) }
                        return String(decoding: text, as: UTF8.self)
                    } catch {
                        held.fire()
                        return "\((error as? URLError)?.code == .resourceUnavailable)"
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.sorted() == ["hello", "true"])
        session.invalidateAndCancel()
    }

    // T-58
    @Test("dropping the bytes cancels the load") func droppingTheBytesCancelsTheLoad() async throws {
        let server = try ScriptedServer.answering(.endless)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        do {
            let (bytes, _) = try await session.bytes(from: server.url())
            var iterator = bytes.makeAsyncIterator()
            #expect(try await iterator.next() == 0)
        }
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid() == [.created(1), .metrics(1), .invalid])
    }

    // T-58, T-56
    @Test("cancelling a reader ends its reading") func cancellingAReaderEndsItsReading() async throws {
        let held = Signal("the rest")
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            try connection.waitForClose()
            held.fire()
        }
        defer { server.stop() }
        let session = URLSession { _ in }
        let (bytes, _) = try await session.bytes(from: server.url())
        let half = Signal("half of the body")
        let reader = Task {
            var count = 0
            for try await _ in bytes {
                count += 1
                if count == 5 { half.fire() }
            }
        }
        try await half.wait()
        reader.cancel()
        let error = await #expect(throws: URLError.self) { try await reader.value }
        #expect(error?.code == .cancelled)
        try await held.wait()
        session.invalidateAndCancel()
    }

    // T-38, T-58
    @Test("a failure within the bytes is thrown after them") func aFailureWithinTheBytesIsThrownAfterThem() async throws
    {
        let server = try ScriptedServer(steps: [
            .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .close,
        ])
        defer { server.stop() }
        let session = URLSession { _ in }
        let (bytes, _) = try await session.bytes(from: server.url())
        var text: [UInt8] = []
        var code: URLError.Code?
        do {
            for try await byte in bytes { text.append(byte) }
        } catch {
            code = error.urlErrorCode
        }
        #expect(String(decoding: text, as: UTF8.self) == "hello")
        #expect(code == .networkConnectionLost)
        session.invalidateAndCancel()
    }

    // S-29, S-101, T-55: many tasks of one session, over few connections
    @Test("many at once") func manyAtOnce() async throws {
        let server = try ScriptedServer.answering { .text($0.path) }
        defer { server.stop() }
        let session = URLSession { _ in }
        let bodies = try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<200 {
                group.addTask {
                    String(decoding: try await session.data(from: server.url("/\(index)")).0, as: UTF8.self)
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(bodies == Set((0..<200).map { "/\($0)" }))
        // A connection for a request that then gets an idle one may be closed unused.
        #expect(server.connections.count { !$0.requests.isEmpty } <= 6)
        session.invalidateAndCancel()
    }
}
