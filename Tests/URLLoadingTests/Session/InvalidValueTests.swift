import Foundation
import TestSupport
import Testing
import URLLoading

/// Invalid values of properties: tasks must end in any case.
@Suite(.leavesNothing) struct InvalidValueTests {
    // C-24, T-7: no connection at all would be no end
    @Test("a number of connections", arguments: [Int.min, -1, 0, .max]) func aNumberOfConnections(count: Int)
        async throws
    {
        let server = try ScriptedServer.answering { .text($0.path) }
        defer { server.stop() }
        let session = URLSession { $0.httpMaximumConnectionsPerHost = count }
        let bodies = try await withThrowingTaskGroup(of: String.self) { group in
            for index in 0..<8 { group.addTask { try await session.text(server.url("/\(index)")) } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(bodies == Set((0..<8).map { "/\($0)" }))
        session.invalidateAndCancel()
    }

    // C-6, C-8, T-7: for ever is as long as it takes, and so is no time
    @Test(
        "times without end",
        arguments: [Double.nan, .infinity, .greatestFiniteMagnitude, 1e10, 0, -0.0, -1, -.infinity])
    func timesWithoutEnd(time: Double) async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let recorded = try await LoadRecorder.load(URLRequest(url: server.url(), timeoutInterval: time)) {
            $0.timeoutIntervalForRequest = time
            $0.timeoutIntervalForResource = time
        }
        #expect(recorded == [.response(200), .data("x"), .succeeded, .invalid])
    }

    // C-6, C-8, T-7: and almost no time is over at once
    @Test("almost no time", arguments: [.leastNonzeroMagnitude, 1e-9], [true, false]) func almostNoTime(
        time: Double, resource: Bool
    ) async throws {
        let server = try ScriptedServer(steps: [.stopReading])
        defer { server.stop() }
        let recorded = try await LoadRecorder.load(URLRequest(url: server.url())) {
            if resource { $0.timeoutIntervalForResource = time } else { $0.timeoutIntervalForRequest = time }
        }
        #expect(recorded == [.failed(.timedOut), .invalid])
    }

    // T-19, CONN-1
    @Test(
        "a priority",
        arguments: [
            (Float.nan, Float(0.5)), (-1, 0), (2, 1), (.infinity, 1), (-.infinity, 0), (0.25, 0.25),
        ])
    func aPriority(set: Float, shown: Float) async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.priority = set
        #expect(task.priority == shown)
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid().of(1).last == .completed(1, nil))
    }

    // T-17, T-18: hints for background sessions have no effect
    @Test("a date to begin at and expected sizes") func aDateToBeginAtAndExpectedSizes() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.earliestBeginDate = .distantFuture
        task.countOfBytesClientExpectsToSend = .min
        task.countOfBytesClientExpectsToReceive = 0
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "x"), .metrics(1), .completed(1, nil), .invalid,
            ])
        #expect(task.earliestBeginDate == .distantFuture)
    }

    // C-9, C-10, C-11, C-12, C-14, C-15, C-16, C-20, C-29 to C-32: stored, without harm
    @Test("switches that do not concern a load") func switchesThatDoNotConcernALoad() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let recorded = try await LoadRecorder.load(URLRequest(url: server.url())) {
            $0.networkServiceType = .background
            $0.allowsUltraConstrainedNetworkAccess = true
            $0.isDiscretionary = true
            $0.sharedContainerIdentifier = "container"
            $0.sessionSendsLaunchEvents = false
            $0.httpShouldUsePipelining = true
            $0.multipathServiceType = .aggregate
            $0.shouldUseExtendedBackgroundIdleMode = true
            $0.usesClassicLoadingMode = false
            $0.enablesEarlyData = true
        }
        #expect(recorded == [.response(200), .data("x"), .succeeded, .invalid])
    }

    // C-2, C-33: the older name
    @Test("a background configuration by its older name") func aBackgroundConfigurationByItsOlderName() throws {
        let configuration = URLSessionConfiguration.backgroundSessionConfiguration("id")
        #expect(configuration.identifier == "id")
        #expect(configuration.urlCache == nil)
    }

    #if compiler(>=6.3)
        // S-85: without invalidation
        @Test("a process ends in the middle of its tasks") func aProcessEndsInTheMiddleOfItsTasks() async throws {
            let server = try ScriptedServer.answering(.endless)
            defer { server.stop() }
            let address = server.url().absoluteString
            await #expect(processExitsWith: .exitCode(7)) { [address = address as String] in
                guard let url = URL(string: address) else { exit(2) }
                let delegate = CountingDelegate()
                let begun = Signal("the first bytes")
                delegate.during = { _, _ in begun.fire() }
                for _ in 0..<8 { URLSession(delegate).dataTask(with: url).resume() }
                try await begun.wait()
                exit(7)
            }
        }
    #endif
}
