import Foundation
import TestSupport
import Testing
import URLLoading

/// Connections that are authenticated by NTLM, with a server that rejects a second handshake on a connection.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct NTLMConnectionTests {
    /// The requests: connection, method, NTLM message type, and length of the body.
    private struct Server {
        let scripted: ScriptedServer
        let recorded: EventRecorder<String>

        /// - Parameters:
        ///   - forgets: Whether authentication lasts for one request only.
        ///   - longBody: The length of the body with the first type 2 message, if it is a long one.
        init(forgets: Bool = false, closes: Bool = false, longBody: Int = 0) throws {
            let recorded = EventRecorder<String>()
            let isShort = Watched(longBody == 0)
            self.recorded = recorded
            scripted = try ScriptedServer { connection in
                var isProved = false
                while let request = try connection.nextRequest() {
                    let message = NTLMAuthResponder.message(request["Authorization"])
                    let said = message.map { "\($0)" } ?? "-"
                    recorded.record("\(connection.index) \(request.method) \(said) \(request.body.count)")
                    if isProved, !forgets {
                        try connection.send(message == nil ? .text("in") : .text("again?", status: 403), to: request)
                        continue
                    }
                    var answer = NTLMAuthResponder().answer(request)
                    if message == 1, !isShort.current {
                        isShort.withValue { $0 = true }
                        answer.body = .bytes([UInt8](repeating: 0x20, count: longBody))
                    }
                    let wasProved = isProved
                    isProved = answer.status == 200
                    if closes, wasProved {
                        answer = answer.with(field: "Connection", "close")
                        try connection.send(answer, to: request)
                        return connection.close()
                    }
                    try connection.send(answer, to: request)
                }
            }
        }
    }

    /// Loads two tasks: the second is challenged before the first has authenticated a connection, and answered after
    /// that.
    private func loadTwo(_ server: Server, second: URLRequest) async throws -> [Int?] {
        let held = Watched<(@Sendable () -> Void)?>(nil)
        let bothAsked = Signal("both are asked")
        let count = Watched(0)
        let delegate = RecordingDelegate()
        delegate.challenge = { _, reply in
            let answer: @Sendable () -> Void = { reply(.useCredential, NTLMAuthResponder.credential) }
            let isFirst = count.withValue {
                $0 += 1
                return $0 == 1
            }
            if isFirst { return held.withValue { $0 = answer } }
            // The second to be asked is the first to go on.
            answer()
            bothAsked.fire()
        }
        let session = URLSession(delegate) { $0.urlCache = nil }
        let tasks = [session.dataTask(with: second), session.dataTask(with: server.scripted.url("/"))]
        tasks[0].resume()
        try await eventually { count.current == 1 }
        tasks[1].resume()
        try await bothAsked.wait()
        try await eventually { tasks[1].state == .completed }
        held.withValue { $0?() }
        try await eventually { tasks[0].state == .completed }
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        return tasks.map { ($0.response as? HTTPURLResponse)?.statusCode }
    }

    private func upload(to server: Server) -> URLRequest {
        var request = URLRequest(url: server.scripted.url("/"))
        request.httpMethod = "POST"
        request.httpBody = Data(count: 1000)
        return request
    }

    // AUTH-19: the rest of a challenge is read before the next step. If it is much too long, the conversation begins
    // anew on another connection.
    @Test(
        "a step with a long body",
        arguments: [
            (1 << 20, ["GET - 0", "GET 1 0", "GET 3 0"]),
            (9 << 20, ["GET - 0", "GET 1 0", "GET - 0", "GET 1 0", "GET 3 0"]),
        ])
    func longBody(length: Int, expected: [String]) async throws {
        let server = try Server(longBody: length)
        defer { server.scripted.stop() }
        let asked = Watched(0)
        let delegate = RecordingDelegate()
        delegate.challenge = { _, reply in
            asked.withValue { $0 += 1 }
            reply(.useCredential, NTLMAuthResponder.credential)
        }
        let session = URLSession(delegate) { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let data = try await session.data(from: server.scripted.url("/")).0
        #expect(String(decoding: data, as: UTF8.self) == "in /")
        #expect(
            server.recorded.events.map { $0.split(separator: " ").dropFirst().joined(separator: " ") } == expected)
        #expect(asked.current == 1)
    }

    // AUTH-19: no second handshake on a connection
    @Test("a proved connection is used as it is") func proved() async throws {
        let server = try Server()
        defer { server.scripted.stop() }
        #expect(try await loadTwo(server, second: upload(to: server)) == [200, 200])
        let recorded = server.recorded.events
        #expect(recorded.last?.hasSuffix("POST - 1000") == true, "\(recorded)")
        // The conversation of the first, and its last request, are all that was said on that connection before.
        #expect(recorded.filter { $0.contains(" 1 ") || $0.contains(" 3 ") }.count == 2, "\(recorded)")
    }

    // AUTH-19: one that is not proved any more is asked on it
    @Test("a connection that is proved no more") func forgotten() async throws {
        let server = try Server(forgets: true)
        defer { server.scripted.stop() }
        #expect(try await loadTwo(server, second: upload(to: server)) == [200, 200])
        let last = server.recorded.events.suffix(3).map { $0.split(separator: " ").dropFirst().joined(separator: " ") }
        #expect(last == ["POST - 1000", "POST 1 1000", "POST 3 1000"])
        #expect(Set(server.recorded.events.suffix(3).map(\.first)).count == 1)
    }

    // AUTH-19: and where that is closed, on another
    @Test("a connection that is proved no more and closed") func closed() async throws {
        let server = try Server(forgets: true, closes: true)
        defer { server.scripted.stop() }
        #expect(try await loadTwo(server, second: upload(to: server)) == [200, 200])
        let last = server.recorded.events.suffix(3).map { $0.split(separator: " ").dropFirst().joined(separator: " ") }
        #expect(last == ["POST - 1000", "POST 1 1000", "POST 3 1000"])
    }

    // AUTH-19, COOK-17: a server does not wait for the next step for ever
    @Test("a connection that is closed while the next step waits for cookies") func closedDuringAWait() async throws {
        final class Cookies: HTTPCookieStorage, @unchecked Sendable {
            let asked = EventRecorder<URL?>()
            let isAwaited = Signal("the last step waits for cookies")
            let isClosed = Signal("the connection is closed")

            override func getCookiesFor(
                _ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void
            ) {
                asked.record(task.currentRequest?.url)
                if asked.count == 3 {
                    isAwaited.fire()
                    try? isClosed.wait()
                }
                completionHandler(nil)
            }
        }
        let (cookies, recorded) = (Cookies(), EventRecorder<String>())
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let message = NTLMAuthResponder.message(request["Authorization"])
                recorded.record(message.map { "\($0)" } ?? "-")
                try connection.send(NTLMAuthResponder().answer(request), to: request)
                if message == 1, recorded.count == 2 {
                    try connection.wait(for: cookies.isAwaited)
                    connection.close()
                    return cookies.isClosed.fire()
                }
            }
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let asked = Watched(0)
        delegate.challenge = { _, reply in
            asked.withValue { $0 += 1 }
            reply(.useCredential, NTLMAuthResponder.credential)
        }
        let session = URLSession(delegate) {
            $0.urlCache = nil
            $0.httpCookieStorage = cookies
        }
        defer { session.invalidateAndCancel() }
        let data = try await session.data(from: server.url("/")).0
        #expect(String(decoding: data, as: UTF8.self) == "in /")
        #expect(recorded.events == ["-", "1", "-", "1", "3"])
        #expect(asked.current == 1)
    }
}
