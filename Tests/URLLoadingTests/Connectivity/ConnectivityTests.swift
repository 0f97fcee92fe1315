import Foundation
import TestSupport
import Testing
import URLLoading

/// Tasks without a way to their server: those that fail at once, and those that wait for one. Each test has a process
/// and a network of its own.
@Suite(.needsEmptyNetwork, .timeLimit(.minutes(1))) struct ConnectivityTests {
    /// A server in a network that can be cut, and a session.
    private final class Scene {
        let server: ScriptedServer
        let delegate = RecordingDelegate()
        let session: URLSession

        /// - Parameter isUp: Whether the network is whole at first.
        init(isUp: Bool, waits: Bool, resourceTimeout: TimeInterval) throws {
            try EmptyNetwork.enter()
            // An address is there to be listened at once the interface has been up.
            try EmptyNetwork.setLoopback(isUp: true)
            server = try ScriptedServer.answering { .text($0.path) }
            try EmptyNetwork.setLoopback(isUp: isUp)
            session = URLSession(delegate) {
                $0.waitsForConnectivity = waits
                $0.timeoutIntervalForResource = resourceTimeout
            }
        }

        @discardableResult
        func start(_ url: URL? = nil, timeout: TimeInterval = 60) -> URLSessionDataTask {
            let task = session.dataTask(with: URLRequest(url: url ?? server.url("/x"), timeoutInterval: timeout))
            task.resume()
            return task
        }

        /// What the delegate has heard when all is over.
        func finish() throws -> [Call] {
            session.finishTasksAndInvalidate()
            let calls = try delegate.calls.wait(for: .invalid, within: .seconds(30)).joined
            #expect(delegate.faults.events == [])
            return calls
        }

        /// Nothing happens for this long; there is no event to wait for.
        func pause(_ time: Duration) {
            _ = try? Signal("nothing").wait(within: time)
        }
    }

    /// Plays a scene in this process, which ends then.
    private static func play(
        isUp: Bool = false, waits: Bool = true, resourceTimeout: TimeInterval = 60, _ body: (Scene) throws -> Void
    ) -> Never {
        do {
            try body(try Scene(isUp: isUp, waits: waits, resourceTimeout: resourceTimeout))
        } catch {
            Issue.record(error)
        }
        exit(EXIT_SUCCESS)
    }

    private static let whole: [Call] = [.response(1, 200), .data(1, "/x"), .metrics(1), .completed(1, nil), .invalid]

    // CONN-12, CONN-14, ERR-5, T-38: by address, to this machine and beyond, and by name, which cannot be asked for
    @Test(arguments: ["http://127.0.0.1:1/", "https://192.0.2.1/", "http://[2001:db8::1]/", "http://away.example/"])
    func `a task that does not wait fails at once`(text: String) async throws {
        await #expect(processExitsWith: .success) { [text = text as String] in
            Self.play(waits: false) { scene in
                scene.start(URL(string: text))
                let calls = try scene.finish()
                #expect(calls == [.created(1), .metrics(1), .completed(1, .notConnectedToInternet), .invalid])
            }
        }
    }

    // C-13, CONN-13, CONN-14, T-27, T-41: longer than the request timer would allow
    @Test func `a task that waits goes on when there is a way`() async {
        await #expect(processExitsWith: .success) {
            Self.play { scene in
                let task = scene.start(timeout: 0.2)
                try scene.delegate.calls.wait(for: .waiting(1))
                scene.pause(.milliseconds(600))
                #expect(scene.delegate.calls.events == [.created(1), .waiting(1)])
                #expect(task.state == .running)
                try EmptyNetwork.setLoopback(isUp: true)
                let calls = try scene.finish()
                #expect(calls == [.created(1), .waiting(1)] + Self.whole)
                #expect(scene.server.connectionCount == 1)
            }
        }
    }

    // CONN-14: a name that could not be asked for
    @Test func `a task that waits by name`() async {
        await #expect(processExitsWith: .success) {
            Self.play { scene in
                scene.start(URL(string: "http://localhost:\(scene.server.port)/x"))
                try scene.delegate.calls.wait(for: .waiting(1))
                try EmptyNetwork.setLoopback(isUp: true)
                let calls = try scene.finish()
                #expect(calls == [.created(1), .waiting(1)] + Self.whole)
            }
        }
        await #expect(processExitsWith: .success) {
            Self.play { scene in
                let task = scene.start(URL(string: "http://away.example/"))
                try scene.delegate.calls.wait(for: .waiting(1))
                task.cancel()
                let calls = try scene.finish()
                #expect(
                    calls == [
                        .created(1), .waiting(1), .metrics(1), .completed(1, .cancelled), .invalid,
                    ])
            }
        }
    }

    // C-8, CONN-13
    @Test func `the resource timer runs while a task waits`() async {
        await #expect(processExitsWith: .success) {
            Self.play(resourceTimeout: 0.5) { scene in
                let begin = ContinuousClock.now
                scene.start(timeout: 0.1)
                let calls = try scene.finish()
                #expect(
                    calls == [
                        .created(1), .waiting(1), .metrics(1), .completed(1, .timedOut), .invalid,
                    ])
                #expect(ContinuousClock.now - begin >= .milliseconds(500))
            }
        }
    }

    // T-41: however often the network changes without there being a way
    @Test func `a task says once that it waits`() async {
        await #expect(processExitsWith: .success) {
            Self.play { scene in
                let task = scene.start(URL(string: "http://192.0.2.1/"))
                try scene.delegate.calls.wait(for: .waiting(1))
                for _ in 0..<5 {
                    try EmptyNetwork.setLoopback(isUp: true)
                    // A load that gets through shows that the change has been heard of.
                    let done = Signal("another task")
                    scene.session.dataTask(with: scene.server.url()) { _, _, _ in done.fire() }.resume()
                    try done.wait()
                    try EmptyNetwork.setLoopback(isUp: false)
                }
                task.cancel()
                let calls = try scene.finish().of(1)
                #expect(calls == [.created(1), .waiting(1), .metrics(1), .completed(1, .cancelled)])
            }
        }
    }

    // T-5
    @Test func `a task that waits can be cancelled`() async {
        await #expect(processExitsWith: .success) {
            Self.play { scene in
                let task = scene.start()
                try scene.delegate.calls.wait(for: .waiting(1))
                task.cancel()
                let calls = try scene.finish()
                #expect(
                    calls == [
                        .created(1), .waiting(1), .metrics(1), .completed(1, .cancelled), .invalid,
                    ])
            }
        }
    }

    // T-2, CONN-13, CONN-16: the way comes while the task is suspended
    @Test func `a task that waits can be suspended`() async {
        await #expect(processExitsWith: .success) {
            Self.play(resourceTimeout: 0.5) { scene in
                let task = scene.start()
                try scene.delegate.calls.wait(for: .waiting(1))
                task.suspend()
                try EmptyNetwork.setLoopback(isUp: true)
                scene.pause(.milliseconds(700))
                #expect(scene.delegate.calls.events == [.created(1), .waiting(1)])
                #expect(scene.server.connectionCount == 0)
                task.resume()
                let calls = try scene.finish()
                #expect(calls == [.created(1), .waiting(1)] + Self.whole)
            }
        }
    }

    // T-47, T-46: a handler's task tells that it waits, and nothing else
    @Test func `a task with a handler waits too`() async {
        await #expect(processExitsWith: .success) {
            Self.play { scene in
                scene.session.dataTask(with: scene.server.url("/x"), completionHandler: scene.delegate.calls.handler)
                    .resume()
                try scene.delegate.calls.wait(for: .waiting(1))
                try EmptyNetwork.setLoopback(isUp: true)
                let calls = try scene.finish()
                #expect(
                    calls == [
                        .created(1), .waiting(1), .metrics(1), .handled("/x", 200, nil), .invalid,
                    ])
            }
        }
    }

    // CONN-12, CONN-14: there is a way, but nobody answers
    @Test func `a task does not wait for a server that refuses`() async {
        await #expect(processExitsWith: .success) {
            Self.play(isUp: true) { scene in
                scene.start(URL(string: "http://127.0.0.1:1/"))
                let calls = try scene.finish()
                #expect(calls == [.created(1), .metrics(1), .completed(1, .cannotConnectToHost), .invalid])
            }
        }
    }

    // CONN-11: what is lost later is lost
    @Test func `a task does not wait for a server that is gone`() async {
        await #expect(processExitsWith: .success) {
            Self.play(isUp: true) { scene in
                let server = try ScriptedServer(steps: [
                    .expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .reset,
                ])
                scene.start(server.url())
                let calls = try scene.finish()
                #expect(
                    calls == [
                        .created(1), .response(1, 200), .data(1, "hello"), .metrics(1),
                        .completed(1, .networkConnectionLost), .invalid,
                    ])
            }
        }
    }
}
