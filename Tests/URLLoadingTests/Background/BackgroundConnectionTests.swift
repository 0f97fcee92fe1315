import BackgroundTransfers
import Foundation
import LoadingPipeline
import LoadingStorage
import TestSupport
import Testing
import URLLoading

/// What a background session and the service say to each other, with a scripted service.
@Suite(.leavesNothing) struct BackgroundConnectionTests {
    private func session(_ service: ScriptedBackgroundService, _ delegate: any URLSessionDelegate) -> URLSession {
        URLSession(configuration: service.configuration(), delegate: delegate, delegateQueue: nil)
    }

    private func progress(_ received: Int64, of total: Int64) -> TransferProgress {
        var progress = TransferProgress()
        (progress.received, progress.toReceive) = (received, total)
        return progress
    }

    private func end(_ session: URLSession, _ delegate: BackgroundDelegate) async throws -> [Call] {
        session.finishTasksAndInvalidate()
        return try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
    }

    // S-96: the totals fall back, and the first call after that has as many bytes as its total
    @Test("a transfer that starts again") func aTransferThatStartsAgain() async throws {
        let service = try ScriptedBackgroundService()
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        let task = session.downloadTask(with: try #require(URL(string: "http://localhost/")))
        task.resume()
        #expect(task.taskIdentifier == 1)
        service.send(.report(task: 1, TransferReport(number: 1, event: .progress(progress(168_640, of: -1)))))
        _ = try await delegate.calls.waitUntil("the progress") { $0.count == 1 }
        service.send(
            .restarted(task: 1, TransferProgress()),
            .report(task: 1, TransferReport(number: 2, event: .progress(progress(3906, of: -1)))))
        _ = try await delegate.calls.waitUntil("the next progress") { $0.count == 2 }
        #expect(task.countOfBytesReceived == 3906)
        #expect(try await end(session, delegate) == [.wrote(1, 168_640, -1), .wrote(1, 3906, -1), .invalid])
    }

    private static func end(_ outcome: TransferEnd.Outcome, head: TransferHead? = nil) -> TransferEnd {
        TransferEnd(order: 1, head: head, progress: TransferProgress(), outcome: outcome, metrics: nil)
    }

    /// The request of the task that the service shall create.
    private func created(_ service: ScriptedBackgroundService) async throws -> TransferRequest {
        let commands = try await service.commands.waitUntil("the task") {
            $0.contains { if case .create = $0 { true } else { false } }
        }
        for case .create(let description) in commands { return description.request }
        throw BackgroundPeer.Unexpected()
    }

    // CONN-7, C-32
    @Test("the service gets the options for HTTP/3 and early data", arguments: [false, true])
    func connectionOptions(isSet: Bool) async throws {
        let service = try ScriptedBackgroundService()
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let configuration = service.configuration()
        configuration.usesClassicLoadingMode = false
        configuration.enablesEarlyData = isSet
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        var request = URLRequest(url: try #require(URL(string: "https://localhost/")))
        request.assumesHTTP3Capable = isSet
        session.downloadTask(with: request).resume()
        let sent = try await created(service)
        #expect((sent.assumesHTTP3, sent.allowsEarlyData) == (isSet, isSet))
        service.send(.ended(task: 1, Self.end(.cancelledBySystem(reason: 0))))
        _ = try await delegate.calls.waitUntil("the end") { $0.contains { $0.isCompletion } }
        _ = try await end(session, delegate)
    }

    // AUTH-33: the service does not commit, so everything else stays in the file
    @Test("no answer to a challenge is on the disk, whose commands go on after it") func answersInTheSpool()
        async throws
    {
        let service = try ScriptedBackgroundService()
        defer { service.close() }
        let delegate = BackgroundChallengeDelegate { _, reply in
            reply(.useCredential, URLCredential(user: "user", password: "very-secret", persistence: .forSession))
        }
        let session = session(service, delegate)
        let task = session.downloadTask(with: try #require(URL(string: "http://localhost/")))
        task.resume()
        #expect(task.taskIdentifier == 1)
        service.send(.report(task: 1, TransferReport(number: 1, event: .challenge(try Self.challenge(7)))))
        let answer = ServiceCommand.answer(
            task: 1,
            TransferAnswer(to: 7, decision: .credential(user: "user", password: "very-secret", isKept: true)))
        _ = try await service.commands.wait(for: answer)
        task.priority = 0.25
        _ = try await service.commands.wait(for: .setPriority(task: 1, 0.25))
        let path = service.folder.path + "/spool"
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
        #expect(!text.contains("secret"))
        let entries = CommandSpool.entries(at: path)
        #expect(entries.map(\.command).suffix(2) == [.resume(task: 1), .setPriority(task: 1, 0.25)])
        // The answer has the number between them.
        let numbers = entries.map(\.number).suffix(2)
        #expect(numbers.last == numbers.first.map { $0 + 2 })
        service.send(
            .ended(
                task: 1,
                TransferEnd(
                    order: 1, head: nil, progress: TransferProgress(), outcome: .cancelledBySystem(reason: 0),
                    metrics: nil)))
        session.finishTasksAndInvalidate()
        _ = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
    }

    private static func challenge(_ identifier: UInt64) throws -> TransferChallenge {
        let json = """
            {"identifier": \(identifier), "peer": "server", "kind": "http", "host": "localhost", "port": 80, \
            "realm": "r", "scheme": "basic", "failures": 0, "certificates": []}
            """
        return try JSONDecoder().decode(TransferChallenge.self, from: Data(json.utf8))
    }

    // AUTH-33, BG-12: the service was killed while the delegate was thinking, and the next one was asked the same
    @Test("an answer is for the challenge of the present service") func answerForTheNextService() async throws {
        let attached = EventRecorder<Int>()
        var asksAgain = listed(1, isSuspended: false)
        asksAgain.challenge = try Self.challenge(8)
        let service = try ScriptedBackgroundService { [asksAgain] service, command, send in
            guard case .attach = command else { return false }
            attached.record(1)
            if attached.count == 1 {
                service.attach(send)
            } else {
                service.attach(send, next: 2, commands: 2, [asksAgain])
            }
            return true
        }
        defer { service.close() }
        let replies = Watched<[BackgroundChallengeDelegate.Reply]>([])
        let delegate = BackgroundChallengeDelegate { _, reply in replies.withValue { $0.append(reply) } }
        let session = session(service, delegate)
        let task = session.downloadTask(with: try #require(URL(string: "http://localhost/")))
        task.resume()
        _ = try await service.commands.wait(for: .resume(task: 1))
        service.send(.report(task: 1, TransferReport(number: 5, event: .challenge(try Self.challenge(7)))))
        try await replies.wait(for: "the challenge") { $0.isEmpty ? nil : true }
        service.close()
        try await eventually { attached.count == 2 }
        // The session has read the messages of the next service.
        #expect(await session.allTasks.count == 1)
        replies.current.first?(.useCredential, URLCredential(user: "user", password: "p", persistence: .forSession))
        let decision = TransferAnswer.Decision.credential(user: "user", password: "p", isKept: true)
        _ = try await service.commands.wait(for: .answer(task: 1, TransferAnswer(to: 8, decision: decision)))
        #expect(replies.current.count == 1)
        service.send(
            .ended(
                task: 1,
                TransferEnd(
                    order: 1, head: nil, progress: TransferProgress(), outcome: .cancelledBySystem(reason: 0),
                    metrics: nil)))
        session.finishTasksAndInvalidate()
        _ = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
    }

    // BG-7: by which the service finds out whether another object has owned the session meanwhile
    @Test("a session that is disconnected attaches again as the same") func attachesAgainAsTheSame() async throws {
        let service = try ScriptedBackgroundService()
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        session.downloadTask(with: try #require(URL(string: "http://localhost/"))).resume()
        _ = try await service.commands.wait(for: .resume(task: 1))
        service.close()
        @Sendable func attachments() -> [(owner: UInt64, again: UInt64?)] {
            service.commands.events.compactMap {
                if case .attach(let description, let again) = $0 { (description.owner, again) } else { nil }
            }
        }
        try await eventually { attachments().count == 2 }
        let found = attachments()
        #expect(found.map(\.again) == [nil, 1])
        #expect(found[0].owner == found[1].owner && found[0].owner != 0)
        _ = try await end(session, delegate)
    }

    // BG-20: the transfer began again while the session was not attached, and its server sends something else now
    @Test("the response at the end is that of the file") func theResponseAtTheEnd() async throws {
        func head(_ version: String) throws -> TransferHead {
            let field = "{\"name\": \"ETag\", \"value\": \"\(version)\"}"
            let json = "{\"url\": \"http://localhost/\", \"status\": 200, \"fields\": [\(field)]}"
            return try JSONDecoder().decode(TransferHead.self, from: Data(json.utf8))
        }
        let service = try ScriptedBackgroundService()
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        let task = session.downloadTask(with: try #require(URL(string: "http://localhost/")))
        task.resume()
        #expect(task.taskIdentifier == 1)
        @Sendable func version() -> String? { (task.response as? HTTPURLResponse)?.value(forHTTPHeaderField: "ETag") }
        let response = TransferReport.Event.response(try head("old"), expectedLength: 8, resumedOffset: 0)
        service.send(.report(task: 1, TransferReport(number: 1, event: response)))
        try await eventually { version() == "old" }
        let failure = TransferEnd.Outcome.failed(TransferFailure(code: -1005), nil)
        service.send(
            .ended(
                task: 1,
                TransferEnd(
                    order: 1, head: try head("new"), progress: TransferProgress(), outcome: failure, metrics: nil)))
        _ = try await delegate.calls.waitUntil("the end") { $0.contains { $0.isCompletion } }
        #expect(version() == "new")
        _ = try await end(session, delegate)
    }

    // BG-20: the service was killed after it had carried out the command, and before its answer
    @Test("an invalidation without an answer is asked for again") func invalidationWithoutAnAnswer() async throws {
        let asked = EventRecorder<Int>()
        let service = try ScriptedBackgroundService { service, command, send in
            switch command {
            case .invalidate:
                asked.record(1)
                if asked.count > 1 { return false }
                service.close()
                return true
            case .attach where asked.count == 1:
                service.attach(send, commands: 1)
                return true
            default: return false
            }
        }
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        _ = await session.allTasks
        _ = try await end(session, delegate)
        #expect(asked.count == 2)
    }

    // BG-17, BG-6
    @Test("a new request that is too long for the service ends its task") func tooLongRequest() async throws {
        let service = try ScriptedBackgroundService()
        defer { service.close() }
        let delegate = AnsweringDelegate()
        let url = try #require(URL(string: "http://localhost/"))
        delegate.delay = { _, reply in
            var request = URLRequest(url: url)
            request.setValue(String(repeating: "x", count: 4 << 20), forHTTPHeaderField: "X-Long")
            reply(.useNewRequest, request)
        }
        let session = session(service, delegate)
        let task = session.downloadTask(with: url)
        task.earliestBeginDate = Date(timeIntervalSinceNow: -10)
        task.resume()
        #expect(task.taskIdentifier == 1)
        service.send(.due(task: 1))
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        #expect((task.error as? URLError)?.code == .dataLengthExceedsMaximum)
        _ = try await service.commands.wait(for: .cancel(task: 1))
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
    }

    // BG-13, BG-14
    @Test("cancelled by the system", arguments: [0, 1, 2]) func cancelledByTheSystem(reason: Int) async throws {
        let service = try ScriptedBackgroundService()
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        let task = session.downloadTask(with: try #require(URL(string: "http://localhost/")))
        task.resume()
        #expect(task.taskIdentifier == 1)
        service.send(
            .ended(
                task: 1,
                TransferEnd(
                    order: 1, head: nil, progress: TransferProgress(), outcome: .cancelledBySystem(reason: reason),
                    metrics: nil)))
        _ = try await delegate.calls.waitUntil("the end") { $0.contains { $0.isCompletion } }
        let error = try #require(delegate.errors.events.first ?? nil)
        #expect(error.code == .cancelled)
        #expect(error.backgroundTaskCancelledReason?.rawValue == reason)
        #expect(task.state == .completed)
        _ = try await end(session, delegate)
        #expect(service.changes.suffix(2) == [.acknowledge(task: 1, .end), .invalidate(cancelsTasks: false)])
    }

    // BG-6, BG-12, RES-1: a program was killed after it had taken the part, and before the service knew that it was
    // delivered
    @Test("an end that is reported again has its resume data again") func resumeDataAgain() async throws {
        let folder = try TemporaryDirectory()
        let part = try folder.write("part", to: "CFNetworkDownload_\(UInt64.random(in: 0...UInt64.max)).tmp")
        let json = """
            {"path": "\(part.path)", "originalURL": "http://localhost/", "url": "http://localhost/", "fields": [], \
            "entityTag": "\\"1\\"", "bytesReceived": 4}
            """
        let stopped = try JSONDecoder().decode(TransferResumption.Download.self, from: Data(json.utf8))
        let end = TransferEnd(
            order: 1, head: nil, progress: TransferProgress(),
            outcome: .failed(TransferFailure(code: -1001), .download(stopped)), metrics: nil)
        for _ in 0..<2 {
            let service = try ScriptedBackgroundService()
            let delegate = BackgroundDelegate()
            let session = session(service, delegate)
            let task = session.downloadTask(with: try #require(URL(string: "http://localhost/")))
            task.resume()
            #expect(task.taskIdentifier == 1)
            service.send(.ended(task: 1, end))
            _ = try await delegate.calls.waitUntil("the end") { $0.contains { $0.isCompletion } }
            #expect(delegate.errors.events.first??.downloadTaskResumeData != nil)
            _ = try await self.end(session, delegate)
            service.close()
        }
        let taken = ServicePlace().state.folder("stopped").path + "/" + part.lastPathComponent
        #expect(try String(contentsOfFile: taken, encoding: .utf8) == "part")
        try FileManager.default.removeItem(atPath: taken)
    }

    // BG-21: the error says which side to update
    @Test(
        "versions without one in common",
        arguments: [(5, 7, "this program is too old"), (0, 0, "the background service /old/urlsessiond is too old")])
    func versions(oldest: Int, newest: Int, text: String) async throws {
        let service = try ScriptedBackgroundService { _, command, send in
            guard case .hello = command else { return false }
            send(.refused(.version(oldest: oldest, newest: newest, program: "/old/urlsessiond")))
            return true
        }
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        session.downloadTask(with: try #require(URL(string: "http://localhost/"))).resume()
        _ = try await delegate.calls.waitUntil("the end") { $0.contains { $0.isCompletion } }
        let error = try #require(delegate.errors.events.first ?? nil)
        #expect(error.code == .backgroundSessionWasDisconnected)
        let reason = (error.userInfo[NSUnderlyingErrorKey] as? NSError)?.localizedDescription ?? ""
        #expect(reason.hasPrefix(text))
        _ = try await end(session, delegate)
    }

    // BG-6: the identifiers follow those of the service, and the commands have the order of the calls
    @Test("identifiers") func identifiers() async throws {
        let service = try ScriptedBackgroundService()
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        let url = try #require(URL(string: "http://localhost/"))
        let tasks = [session.downloadTask(with: url), session.downloadTask(with: url)]
        tasks[1].taskDescription = "second"
        tasks[1].priority = 0.75
        tasks[1].resume()
        tasks[1].suspend()
        #expect(tasks.map { $0.taskIdentifier } == [1, 2])
        #expect(await session.allTasks.map { $0.taskIdentifier } == [1, 2])
        tasks[0].resume()
        _ = try await end(session, delegate)
        #expect(
            service.changes.dropFirst(2) == [
                .setTaskDescription(task: 2, "second"), .setPriority(task: 2, 0.75), .resume(task: 2),
                .suspend(task: 2),
                .resume(task: 1), .invalidate(cancelsTasks: false),
            ])
    }

    // BG-6: numbers that no library has given, of a damaged journal or a hostile peer
    @Test("identifiers without a next one", arguments: [Int.max, .max - 1, 0, -1, .min]) func exhausted(next: Int)
        async throws
    {
        let service = try ScriptedBackgroundService { service, command, send in
            guard case .attach = command else { return false }
            service.attach(send, next: next)
            return true
        }
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        let url = try #require(URL(string: "http://localhost/"))
        for _ in 0..<3 { session.downloadTask(with: url).resume() }
        _ = try await delegate.calls.waitUntil("the ends") { $0.count(where: \.isCompletion) == 3 }
        #expect(delegate.errors.events.allSatisfy { $0?.code == .backgroundSessionWasDisconnected })
        _ = try await end(session, delegate)
    }

    // BG-12: what the journal does not have is sent again after the connection has ended, and nothing else
    @Test("a connection that ends") func aConnectionThatEnds() async throws {
        let attached = EventRecorder<Int>()
        let service = try ScriptedBackgroundService { [listed = listed(1, isSuspended: true)] service, command, send in
            guard case .attach = command else { return false }
            attached.record(1)
            // The second time the journal has the first command, and so its task.
            if attached.count == 1 {
                service.attach(send)
            } else {
                service.attach(send, next: 2, commands: 1, [listed])
            }
            return true
        }
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        let task = session.downloadTask(with: try #require(URL(string: "http://localhost/")))
        task.resume()
        _ = try await service.commands.waitUntil("the commands") { $0.contains(.resume(task: 1)) }
        service.close()
        _ = try await service.commands.waitUntil("the commands again") {
            $0.filter { $0 == .resume(task: 1) }.count == 2
        }
        #expect(service.changes.filter { if case .create = $0 { true } else { false } }.count == 1)
        #expect(await session.allTasks.map { $0.state } == [.running])
        _ = try await end(session, delegate)
    }

    private func listed(_ task: Int, isSuspended: Bool) -> TransferState {
        var request = TransferRequest(url: "http://localhost/", folder: "")
        request.identifier = task
        return TransferState(
            description: TransferDescription(task: task, kind: .download, request: request), isSuspended: isSuspended)
    }

    // BG-20, S-80: the program does not know yet what the session has
    @Test("tasks that are listed after the invalidation are left to the service", arguments: [false, true])
    func listedAfterTheInvalidation(isSuspended: Bool) async throws {
        let isAttaching = Signal("the session attaches")
        let service = try ScriptedBackgroundService { _, command, _ in
            guard case .attach = command else { return false }
            isAttaching.fire()
            return true
        }
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let session = session(service, delegate)
        try await isAttaching.wait()
        session.finishTasksAndInvalidate()
        service.attach({ service.send($0) }, next: 2, [listed(1, isSuspended: isSuspended)])
        #expect(try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid } == [.invalid])
        #expect(service.changes == [.invalidate(cancelsTasks: false)])
    }

    // BG-6, BG-20: a disk was restored, for example, while the delegate's queue had stopped the reading of a body
    @Test("a task that is lost in the middle of its end does not hold back the others") func lostInItsEnd()
        async throws
    {
        let attached = EventRecorder<Int>()
        let service = try ScriptedBackgroundService { [second = listed(2, isSuspended: false)] service, command, send in
            guard case .attach = command else { return false }
            attached.record(1)
            if attached.count == 1 {
                service.attach(send)
            } else {
                service.attach(send, next: 3, commands: 4, [second])
            }
            return true
        }
        defer { service.close() }
        let delegate = BackgroundDelegate()
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let session = URLSession(configuration: service.configuration(), delegate: delegate, delegateQueue: queue)
        let url = try #require(URL(string: "http://localhost/"))
        let file = try service.folder.write("sent", to: "sent")
        session.uploadTask(with: URLRequest(url: url).with { $0.httpMethod = "PUT" }, fromFile: file).resume()
        session.downloadTask(with: url).resume()
        _ = try await service.commands.wait(for: .resume(task: 2))
        // More than may wait for the delegate.
        let answer = try service.folder.write(String(repeating: "x", count: 2 << 20), to: "answer")
        let failure = TransferEnd.Outcome.failed(TransferFailure(code: -1005), nil)
        service.send(
            .ended(
                task: 1,
                TransferEnd(
                    order: 1, head: nil, progress: TransferProgress(), outcome: .file(answer.path), metrics: nil)),
            .ended(
                task: 2,
                TransferEnd(order: 2, head: nil, progress: TransferProgress(), outcome: failure, metrics: nil)))
        service.close()
        try await eventually { attached.count == 2 }
        service.send(
            .ended(
                task: 2,
                TransferEnd(order: 2, head: nil, progress: TransferProgress(), outcome: failure, metrics: nil)))
        queue.isSuspended = false
        _ = try await delegate.calls.waitUntil("both ends") { $0.count(where: \.isCompletion) == 2 }
        #expect(delegate.errors.events.map { $0?.code } == [.backgroundSessionWasDisconnected, .networkConnectionLost])
        _ = try await end(session, delegate)
    }
}
