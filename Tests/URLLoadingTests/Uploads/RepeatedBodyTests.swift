import Foundation
import TestSupport
import Testing
import URLLoading

/// Bodies that are sent again: after redirects and lost connections.
@Suite(.leavesNothing) struct RepeatedBodyTests {
    enum Kind: CaseIterable { case data, file, stream, requestStream }

    private static let body = [UInt8].pattern(count: 200_000)
    private static let size = Int64(body.count)

    private func start(
        _ kind: Kind, _ session: URLSession, _ request: URLRequest, _ directory: TemporaryDirectory
    ) throws -> URLSessionTask {
        let file = try directory.write(Self.body, to: "body")
        let task: URLSessionTask =
            switch kind {
            case .data: session.uploadTask(with: request, from: Data(Self.body))
            case .file: session.uploadTask(with: request, fromFile: file)
            case .stream: session.uploadTask(withStreamedRequest: request)
            case .requestStream:
                session.dataTask(with: request.with { $0.httpBodyStream = InputStream(data: Data(Self.body)) })
            }
        task.resume()
        return task
    }

    private func questions(_ kind: Kind, first: Bool) -> [Call] {
        switch kind {
        case .data, .file: []
        case .stream: [.needsStream(1, 0)]
        case .requestStream: first ? [] : [.needsStream(1, 0)]
        }
    }

    private func redirecting(_ status: Int) throws -> ScriptedServer {
        try .answering { request in
            request.path == "/start"
                ? .redirect(to: "/end", status: status) : .text("\(request.method) \(request.body.weight)")
        }
    }

    // R-6, T-51
    @Test("a redirect that keeps the body", arguments: Kind.allCases, [307, 308])
    func aRedirectThatKeepsTheBody(kind: Kind, status: Int) async throws {
        let server = try redirecting(status)
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = RecordingUploadDelegate(Self.body)
        let session = URLSession(delegate)
        let task = try start(kind, session, UploadRun(server: server, path: "/start").request, directory)
        session.finishTasksAndInvalidate()
        let expected = kind == .data || kind == .file ? Self.size : -1
        #expect(
            try await delegate.callsUntilInvalid()
                == [.created(1)] + questions(kind, first: true) + [.sent(1, Self.size, expected), .redirect(1, status)]
                + questions(kind, first: false) + [
                    .sent(1, Self.size, expected), .response(1, 200), .data(1, "PUT \(Self.body.weight)"), .metrics(1),
                    .completed(1, nil), .invalid,
                ])
        #expect(task.countOfBytesSent == Self.size)
        #expect(delegate.faults.events == [])
    }

    // R-6, T-51: without a delegate's say in redirects the way is another
    @Test("a redirect without a delegate", arguments: [Kind.data, .file], [307, 308])
    func aRedirectWithoutADelegate(kind: Kind, status: Int) async throws {
        let server = try redirecting(status)
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let file = try directory.write(Self.body, to: "body")
        let session = URLSession { _ in }
        let request = UploadRun(server: server, path: "/start").request
        let (data, _) =
            kind == .data
            ? try await session.upload(for: request, from: Data(Self.body))
            : try await session.upload(for: request, fromFile: file)
        #expect(String(decoding: data, as: UTF8.self) == "PUT \(Self.body.weight)")
        session.finishTasksAndInvalidate()
    }

    // R-2, R-3, R-5
    @Test("a redirect that drops the body", arguments: Kind.allCases, [(301, "POST"), (302, "POST"), (303, "PUT")])
    func aRedirectThatDropsTheBody(kind: Kind, by redirect: (Int, String)) async throws {
        let server = try redirecting(redirect.0)
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = RecordingUploadDelegate(Self.body)
        let session = URLSession(delegate)
        let request = UploadRun(server: server, path: "/start", method: redirect.1).request
        _ = try start(kind, session, request, directory)
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid().withoutSent
                == [.created(1)] + questions(kind, first: true) + [
                    .redirect(1, redirect.0), .response(1, 200), .data(1, "GET 0:0"), .metrics(1), .completed(1, nil),
                    .invalid,
                ])
    }

    // R-18: a stream that the delegate puts into the new request is sent as it is
    @Test("the delegate sets another stream on the new request") func theDelegateSetsAnotherStreamOnTheNewRequest()
        async throws
    {
        let server = try redirecting(307)
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = RecordingUploadDelegate(Self.body)
        delegate.redirect = { request, answer in
            answer(request.with { $0.httpBodyStream = InputStream(data: Data("other".utf8)) })
        }
        let session = URLSession(delegate)
        _ = try start(.requestStream, session, UploadRun(server: server, path: "/start").request, directory)
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .sent(1, Self.size, -1), .redirect(1, 307), .sent(1, 5, -1), .response(1, 200),
                .data(1, "PUT \("other".utf8.weight)"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // T-51: no delegate provides another stream
    @Test("a redirect, and no second stream", arguments: [Kind.stream, .requestStream])
    func aRedirectAndNoSecondStream(kind: Kind) async throws {
        let server = try redirecting(307)
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = RecordingUploadDelegate()
        delegate.stream = { $1($0 == 0 && kind == .stream ? InputStream(data: Data(Self.body)) : nil) }
        let session = URLSession(delegate)
        _ = try start(kind, session, UploadRun(server: server, path: "/start").request, directory)
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid().withoutSent
                == [.created(1)] + questions(kind, first: true) + [
                    .redirect(1, 307), .needsStream(1, 0), .metrics(1), .completed(1, .requestBodyStreamExhausted),
                    .invalid,
                ])
    }

    // CONN-23, R-6: what was not read from need not be asked for
    @Test("a redirect before the body went out", arguments: Kind.allCases)
    func aRedirectBeforeTheBodyWentOut(kind: Kind) async throws {
        let server = try ScriptedServer { connection in
            let head = try connection.readRequestHead()
            guard head.path == "/end" else {
                try connection.send("HTTP/1.1 307 X\r\nLocation: /end\r\nContent-Length: 0\r\n\r\n")
                try connection.waitForClose()
                return
            }
            try connection.send("HTTP/1.1 100 Continue\r\n\r\n")
            let request = try connection.readBody(of: head)
            try connection.send(.text(request.body.weight), to: request)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = RecordingUploadDelegate(Self.body)
        let session = URLSession(delegate)
        let run = UploadRun(server: server, path: "/start", fields: ["Expect": "100-continue"])
        _ = try start(kind, session, run.request, directory)
        session.finishTasksAndInvalidate()
        let expected = kind == .data || kind == .file ? Self.size : -1
        #expect(
            try await delegate.callsUntilInvalid()
                == [.created(1)] + questions(kind, first: true) + [
                    .redirect(1, 307), .informational(1, 100), .sent(1, Self.size, expected), .response(1, 200),
                    .data(1, Self.body.weight), .metrics(1), .completed(1, nil), .invalid,
                ])
    }

    // CONN-10, T-51
    @Test("a reused connection that is lost during the body", arguments: Kind.allCases, ["PUT", "POST"])
    func aKeptConnectionThatDiesUnderTheBody(kind: Kind, method: String) async throws {
        let server = try ScriptedServer { connection in
            while let request = try? connection.readRequestHead() {
                if connection.index == 0, request.method != "GET" {
                    _ = try connection.readBody(of: request)
                    return connection.reset()
                }
                let whole = try connection.readBody(of: request)
                try connection.send(.text("\(whole.method) \(whole.body.weight)"), to: whole)
            }
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = RecordingUploadDelegate(Self.body)
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        let task = try start(kind, session, UploadRun(server: server, method: method).request, directory)
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid().of(2).withoutSent
        func asked(_ first: Bool) -> [Call] { questions(kind, first: first).map { _ in .needsStream(2, 0) } }
        if method == "POST" {
            #expect(
                calls == [.created(2)] + asked(true) + [.metrics(2), .completed(2, .networkConnectionLost)])
        } else {
            #expect(
                calls == [.created(2)] + asked(true) + asked(false) + [
                    .response(2, 200), .data(2, "PUT \(Self.body.weight)"), .metrics(2), .completed(2, nil),
                ])
            #expect(task.countOfBytesSent == Self.size)
        }
    }

    // T-35, T-51, S-53, AUTH-35
    @Test("a challenge after the body", arguments: Kind.allCases) func aChallengeAfterTheBody(kind: Kind) async throws {
        let server = try ScriptedServer.answering { request in
            request["Authorization"] == nil
                ? .text("who?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"x\"")
                : .text("\(request.method) \(request.body.weight)")
        }
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = RecordingUploadDelegate(Self.body)
        delegate.challenge = { _, answer in
            answer(.useCredential, URLCredential(user: "a", password: "b", persistence: .none))
        }
        let session = URLSession(delegate)
        _ = try start(kind, session, UploadRun(server: server).request, directory)
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid().withoutSent
        #expect(
            calls
                == [.created(1)] + questions(kind, first: true) + [
                    .challenge(1, "HTTPBasic x", 0)
                ] + questions(kind, first: false) + [
                    .response(1, 200), .data(1, "PUT \(Self.body.weight)"), .metrics(1), .completed(1, nil), .invalid,
                ])
        #expect(server.requests.map(\.body.count) == [Self.body.count, Self.body.count])
    }

    /// A server that requires authentication.
    private static func asking() throws -> ScriptedServer {
        try .answering { request in
            request["Authorization"] == nil
                ? .text("who?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"x\"")
                : .text("\(request.method) \(request.body.weight)")
        }
    }

    // AUTH-35, T-51: the delegate is asked for the body again, and has none
    @Test("a challenge after a body that there is once", arguments: [Kind.stream, .requestStream])
    func aChallengeAfterABodyThatThereIsOnce(kind: Kind) async throws {
        let server = try Self.asking()
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let delegate = RecordingUploadDelegate()
        delegate.stream = { number, answer in
            answer(number == 0 && kind == .stream ? InputStream(data: Data(Self.body)) : nil)
        }
        delegate.challenge = { _, answer in
            answer(.useCredential, URLCredential(user: "a", password: "b", persistence: .none))
        }
        let session = URLSession(delegate)
        _ = try start(kind, session, UploadRun(server: server).request, directory)
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid().withoutSent
                == [.created(1)] + questions(kind, first: true) + [.challenge(1, "HTTPBasic x", 0)]
                + questions(kind, first: false) + [
                    .metrics(1), .completed(1, .requestBodyStreamExhausted), .invalid,
                ])
        #expect(server.requests.count == 1)
    }

    // AUTH-35: without a delegate
    @Test("a challenge after a body that there is once, without a delegate") func aChallengeWithoutADelegate()
        async throws
    {
        let server = try Self.asking()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(
            URLCredential(user: "a", password: "b", persistence: .forSession),
            for: URLProtectionSpace(
                host: "127.0.0.1", port: server.port, protocol: "http", realm: "x",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic))
        let session = URLSession { $0.urlCredentialStorage = storage }
        defer { session.invalidateAndCancel() }
        let calls = EventRecorder<Call>()
        let request = UploadRun(server: server).request.with { $0.httpBodyStream = InputStream(data: Data(Self.body)) }
        session.dataTask(with: request, completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 1) == [.handled(nil, nil, .requestBodyStreamExhausted)])
        #expect(server.requests.count == 1)
    }
}
