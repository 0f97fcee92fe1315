import Foundation
import TestSupport
import Testing
import URLLoading

/// `statusUpdates`, in place of key-value observation.
@Suite(.leavesNothing) struct StatusUpdatesTests {
    /// Reads all updates of a task.
    private func reader(of task: URLSessionTask) -> (Task<[URLSessionTask.Status], Never>, Signal) {
        let begun = Signal("the first status")
        let updates = task.statusUpdates
        let reader = Task {
            var seen: [URLSessionTask.Status] = []
            for await status in updates {
                seen.append(status)
                begun.fire()
            }
            return seen
        }
        return (reader, begun)
    }

    // T-10
    @Test("from the first state to the last, and the counters") func whole() async throws {
        let permits = Permits()
        let server = try ScriptedServer.answering(
            CannedResponse.paced([UInt8](repeating: 65, count: 3000), portion: 1000, by: permits))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        let task = session.dataTask(with: server.url())
        var updates = task.statusUpdates.makeAsyncIterator()
        #expect(await updates.next()?.state == .suspended)
        task.resume()
        #expect(await updates.next()?.state == .running)
        permits.release(1)
        while let status = await updates.next(), status.countOfBytesReceived < 1000 {}
        #expect(task.countOfBytesReceived == 1000)
        permits.release(2)
        var last: URLSessionTask.Status?
        while let status = await updates.next() { last = status }
        let end = try #require(last)
        #expect(end.state == .completed)
        #expect(end.countOfBytesReceived == 3000)
        #expect(end.countOfBytesExpectedToReceive == 3000)
        #expect(end.countOfBytesSent == 0)
        #expect(await updates.next() == nil)
        // Of a task that has ended there is one.
        let (late, _) = reader(of: task)
        #expect(await late.value == [end])
        session.finishTasksAndInvalidate()
    }

    // T-5, T-10
    @Test("each reader gets suspensions and the cancellation") func stateChanges() async throws {
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: Signal("never")))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        let task = session.dataTask(with: server.url())
        task.resume()
        var updates = [task.statusUpdates.makeAsyncIterator(), task.statusUpdates.makeAsyncIterator()]
        for index in updates.indices { #expect(await updates[index].next()?.state == .running) }
        task.suspend()
        for index in updates.indices { #expect(await updates[index].next()?.state == .suspended) }
        task.resume()
        for index in updates.indices { #expect(await updates[index].next()?.state == .running) }
        task.cancel()
        for index in updates.indices {
            var last: URLSessionTask.State?
            while let status = await updates[index].next() { last = status.state }
            #expect(last == .completed)
        }
        session.finishTasksAndInvalidate()
    }

    // T-10: and it holds nothing back
    @Test("a reader that stops") func stops() async throws {
        let held = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: held))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        let task = session.dataTask(with: server.url())
        let (first, firstHasBegun) = reader(of: task)
        try await firstHasBegun.wait()
        first.cancel()
        #expect(await first.value.map(\.state) == [.suspended])
        task.resume()
        let (second, secondHasBegun) = reader(of: task)
        try await secondHasBegun.wait()
        held.fire()
        #expect(await second.value.last?.state == .completed)
        session.finishTasksAndInvalidate()
    }

    // T-10: not even its memory, although the task changes no more
    @Test("many readers that stop") func manyReaders() async throws {
        let session = URLSession(configuration: .ephemeral)
        let task = session.dataTask(with: URLRequest(url: URL(fileURLWithPath: "/")))
        for await _ in task.statusUpdates { break }
        let before = Memory.allocated
        for _ in 0..<20_000 { for await _ in task.statusUpdates { break } }
        let after = Memory.allocated
        #expect(after - before < Memory.limit(1 << 20))
        task.cancel()
        session.finishTasksAndInvalidate()
    }

    // T-10: an upload's bytes
    @Test("an upload") func upload() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        let task = session.uploadTask(with: request, from: Data(count: 100_000))
        let (updates, begun) = reader(of: task)
        try await begun.wait()
        task.resume()
        let seen = await updates.value
        #expect(seen.last?.countOfBytesSent == 100_000)
        #expect(seen.allSatisfy { $0.countOfBytesExpectedToSend == 100_000 })
        #expect(seen.map(\.countOfBytesSent) == seen.map(\.countOfBytesSent).sorted())
        session.finishTasksAndInvalidate()
    }

    // T-10, T-21
    @Test("the fraction of the bytes of both directions") func fraction() async throws {
        let permits = Permits()
        let server = try ScriptedServer.answering(.paced([UInt8](repeating: 65, count: 100), portion: 25, by: permits))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        request.httpBody = Data(count: 100)
        let task = session.dataTask(with: request)
        var updates = task.statusUpdates.makeAsyncIterator()
        #expect(await updates.next()?.fractionCompleted == 0)
        task.resume()
        var seen: [Double] = []
        for quarter in 1...4 {
            permits.release()
            while let status = await updates.next() {
                seen.append(status.fractionCompleted)
                if status.countOfBytesReceived == quarter * 25 { break }
            }
            #expect(seen.last == 0.5 + Double(quarter) / 8)
        }
        while let status = await updates.next() { seen.append(status.fractionCompleted) }
        #expect(seen.last == 1)
        #expect(seen == seen.sorted())
        session.finishTasksAndInvalidate()
    }

    // T-10, T-21: as the progress has it
    @Test(
        "the last fraction",
        arguments: [
            ("Content-Length: 10\r\n\r\n0123456789", 1), ("Content-Length: 10\r\n\r\n0123", 0.4),
            ("Content-Length: 0\r\n\r\n", 1), ("Connection: close\r\n\r\n0123", 1),
            ("Transfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n", 0),
        ])
    func lastFraction(response: String, fraction: Double) async throws {
        let server = try ScriptedServer(steps: [.expectRequest, .send("HTTP/1.1 200 OK\r\n" + response), .close])
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        let progress = task.progress
        let (updates, begun) = reader(of: task)
        try await begun.wait()
        task.resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect(await updates.value.last?.fractionCompleted == fraction)
        #expect(progress.fractionCompleted == fraction)
    }

    // T-10
    @Test("an upload whose file has another length at its start") func otherLength() async throws {
        let mayAnswer = Signal("the response")
        let server = try ScriptedServer.answering(CannedResponse.text("x").held(until: mayAnswer))
        defer { server.stop() }
        let folder = try TemporaryDirectory()
        let file = folder.file("body")
        try Data("hello".utf8).write(to: file)
        let session = URLSession(configuration: .ephemeral)
        var request = URLRequest(url: server.url())
        request.httpMethod = "POST"
        let task = session.uploadTask(with: request, fromFile: file)
        try Data().write(to: file)
        let lengths = EventRecorder<Int64>()
        let reader = Task {
            for await status in task.statusUpdates { lengths.record(status.countOfBytesExpectedToSend) }
        }
        _ = try await lengths.waitFor(count: 1)
        task.resume()
        // Before the response, which changes other counters.
        #expect(try await lengths.wait(for: 0).first == 5)
        mayAnswer.fire()
        await reader.value
        session.finishTasksAndInvalidate()
    }
}
