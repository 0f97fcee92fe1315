import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// FTP login.
@Suite(.leavesNothing) struct FTPLoginTests {
    private func server(allowsAnonymous: Bool = false) throws -> FTPServer {
        var options = FTPServer.Options()
        options.files = ["/a.txt": Array("hello".utf8)]
        options.users = ["ann": "s3cret", "bob": "p@:w"]
        if allowsAnonymous { options.users["anonymous"] = "" }
        return try FTPServer(options)
    }

    private func space(_ server: FTPServer) -> URLProtectionSpace {
        URLProtectionSpace(
            host: "127.0.0.1", port: server.port, protocol: NSURLProtectionSpaceFTP, realm: nil,
            authenticationMethod: NSURLAuthenticationMethodDefault)
    }

    private let ann = URLCredential(user: "ann", password: "s3cret", persistence: .forSession)
    private let wrong = URLCredential(user: "ann", password: "wrong", persistence: .forSession)

    private func calls(_ delegate: RecordingDelegate, _ url: URL) async throws -> [Call] {
        let session = URLSession(delegate)
        session.dataTask(with: url).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    private let goodEnd: [Call] = [.response(1, 0), .data(1, "hello"), .metrics(1), .completed(1, nil), .invalid]

    // MISC-17, AUTH-11
    @Test("by the URL", arguments: [("ann:s3cret", "ann", "s3cret"), ("bob:p%40:w", "bob", "p@:w")])
    func byTheURL(userinfo: String, user: String, password: String) async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { $1(.cancelAuthenticationChallenge, nil) }
        #expect(try await calls(delegate, server.url("/a.txt", user: userinfo)) == [.created(1)] + goodEnd)
        #expect(server.commands.prefix(2) == ["USER \(user)", "PASS \(password)"])
        #expect(server.connectionCount == 1)
    }

    // MISC-17, AUTH-4, AUTH-8, AUTH-9, AUTH-12, MET-15
    @Test("by the delegate, at the third try") func byTheDelegateAtTheThirdTry() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let seen = EventRecorder<URLAuthenticationChallenge>()
        let (ann, wrong) = (ann, wrong)
        delegate.challenge = { challenge, handler in
            seen.record(challenge)
            handler(.useCredential, challenge.previousFailureCount < 2 ? wrong : ann)
        }
        let asked = (0..<3).map { Call.challenge(1, "Default", $0) }
        #expect(try await calls(delegate, server.url("/a.txt")) == [.created(1)] + asked + goodEnd)
        #expect(server.connectionCount == 4)
        let first = try #require(seen.events.first)
        #expect(first.protectionSpace == space(server))
        #expect(first.protectionSpace.protocol == "ftp")
        #expect(first.protectionSpace.receivesCredentialSecurely == false)
        #expect(first.proposedCredential == nil)
        #expect(first.failureResponse == nil)
        #expect(delegate.metrics.events.first?.transactionMetrics.count == 4)
    }

    // AUTH-9: the 64th credential that is refused is the last one
    @Test("a delegate that always answers", .timeLimit(.minutes(1))) func aDelegateThatAlwaysAnswers() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, handler in
            // Another one each time. Beyond the limit it gives up, so that the test ends.
            let count = challenge.previousFailureCount
            if count > 70 { return handler(.cancelAuthenticationChallenge, nil) }
            handler(.useCredential, URLCredential(user: "ann", password: "\(count)", persistence: .none))
        }
        let asked = (0..<64).map { Call.challenge(1, "Default", $0) }
        #expect(
            try await calls(delegate, server.url("/a.txt"))
                == [.created(1)] + asked + [.metrics(1), .completed(1, .userAuthenticationRequired), .invalid])
        #expect(server.connectionCount == 65)
    }

    // MISC-17, AUTH-9, AUTH-11: what the address says is proposed, and once it was refused no more
    @Test("the URL's refused") func theURLsRefused() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let proposed = EventRecorder<URLCredential?>()
        let ann = ann
        delegate.challenge = { challenge, handler in
            proposed.record(challenge.proposedCredential)
            handler(.useCredential, ann)
        }
        let calls = try await calls(delegate, server.url("/a.txt", user: "ann:wrong"))
        #expect(calls == [.created(1), .challenge(1, "Default", 0)] + goodEnd)
        #expect(proposed.events == [nil])
        #expect(server.commands(on: 0) == ["USER ann", "PASS wrong"])
        #expect(server.commands(on: 1).prefix(2) == ["USER ann", "PASS s3cret"])
    }

    // MISC-17, AUTH-11: a user without a password
    @Test("a user alone") func aUserAlone() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let proposed = EventRecorder<String?>()
        let ann = ann
        delegate.challenge = { challenge, handler in
            proposed.record(challenge.proposedCredential?.user)
            handler(.useCredential, ann)
        }
        let calls = try await calls(delegate, server.url("/a.txt", user: "ann"))
        #expect(calls == [.created(1), .challenge(1, "Default", 0)] + goodEnd)
        #expect(proposed.events == ["ann"])
        #expect(server.commands(on: 0) == ["USER ann"])
    }

    // MISC-17, AUTH-7, AUTH-10, AUTH-29
    @Test(
        "without a credential",
        arguments: [URLSession.AuthChallengeDisposition.performDefaultHandling, .rejectProtectionSpace])
    func noCredential(disposition: URLSession.AuthChallengeDisposition) async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { $1(disposition, nil) }
        #expect(
            try await calls(delegate, server.url("/a.txt")) == [
                .created(1), .challenge(1, "Default", 0), .metrics(1), .completed(1, .userAuthenticationRequired),
                .invalid,
            ])
        let session = URLSession { _ in }
        defer { session.finishTasksAndInvalidate() }
        let error = await #expect(throws: URLError.self) { try await session.data(from: server.url("/a.txt")) }
        #expect(error?.code == .userAuthenticationRequired)
        let underlying = error?.userInfo[NSUnderlyingErrorKey] as? NSError
        #expect(underlying?.domain == "URLLoadingFTPErrorDomain")
        #expect(underlying?.code == 530)
        #expect(underlying?.localizedDescription == "530 Login incorrect")
    }

    // AUTH-6, T-38
    @Test("cancelled") func cancelled() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { $1(.cancelAuthenticationChallenge, nil) }
        #expect(
            try await calls(delegate, server.url("/a.txt")) == [
                .created(1), .challenge(1, "Default", 0), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        #expect(server.connectionCount == 1)
    }

    // MISC-17, AUTH-11, AUTH-12: the storage first, whatever way the port is written
    @Test("by the storage", arguments: [true, false]) func byTheStorage(isAsked: Bool) async throws {
        let server = try server()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(ann, for: space(server))
        let delegate = RecordingDelegate()
        let proposed = EventRecorder<String?>()
        if isAsked {
            delegate.challenge = { challenge, handler in
                proposed.record(challenge.proposedCredential?.user)
                handler(.performDefaultHandling, nil)
            }
        }
        let session = URLSession(delegate) { $0.urlCredentialStorage = storage }
        session.dataTask(with: server.url("/a.txt")).resume()
        session.finishTasksAndInvalidate()
        let asked: [Call] = isAsked ? [.challenge(1, "Default", 0)] : []
        #expect(try await delegate.callsUntilInvalid() == [.created(1)] + asked + goodEnd)
        #expect(proposed.events == (isAsked ? ["ann"] : []))
        #expect(server.commands(on: 0) == ["USER anonymous", "PASS anonymous"])
        #expect(server.commands(on: 1).prefix(2) == ["USER ann", "PASS s3cret"])
    }

    // AUTH-22, AUTH-26: what was accepted is said unasked, and kept
    @Test("the second load") func theSecondLoad() async throws {
        let server = try server()
        defer { server.stop() }
        let storage = URLCredentialStorage()
        let delegate = RecordingDelegate()
        let ann = ann
        delegate.challenge = { $1(.useCredential, ann) }
        let session = URLSession(delegate) { $0.urlCredentialStorage = storage }
        session.dataTask(with: server.url("/a.txt")).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        #expect(storage.defaultCredential(for: space(server))?.user == "ann")
        session.dataTask(with: server.url("/a.txt")).resume()
        let calls = try await delegate.calls(untilCompletions: 2)
        #expect(calls.of(2) == [.created(2), .response(2, 0), .data(2, "hello"), .metrics(2), .completed(2, nil)])
        #expect(server.connectionCount == 3)
        // After the credential is removed the login is anonymous.
        storage.remove(ann, for: space(server))
        delegate.challenge = { $1(.performDefaultHandling, nil) }
        session.dataTask(with: server.url("/a.txt")).resume()
        _ = try await delegate.calls(untilCompletions: 3)
        #expect(server.commands(on: 3) == ["USER anonymous", "PASS anonymous"])
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
    }

    // MISC-17: a credential that would be a second command
    @Test("a credential with a line end", arguments: ["a\r\nDELE b", "a\nb", "a\u{0}b"])
    func aCredentialWithALineEnd(word: String) async throws {
        let server = try server()
        defer { server.stop() }
        for (user, password) in [(word, "p"), ("ann", word)] {
            let delegate = RecordingDelegate()
            delegate.challenge = {
                $1(.useCredential, URLCredential(user: user, password: password, persistence: .none))
            }
            #expect(try await calls(delegate, server.url("/a.txt")).contains(.completed(1, .badURL)))
        }
        #expect(!server.commands.contains { $0.hasPrefix("DELE") || $0.hasPrefix("b") })
    }

    // C-6: timeouts are suspended during a challenge
    @Test("a long thought") func aLongThought() async throws {
        let server = try server()
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let held = Watched<RecordingDelegate.ChallengeHandler?>(nil)
        delegate.challenge = { _, handler in held.withValue { $0 = handler } }
        let stepped = try SteppedLoop()
        let session = URLSession(delegate) { $0.loop = stepped.loop }
        session.dataTask(with: server.url("/a.txt")).resume()
        session.finishTasksAndInvalidate()
        let handler = try await held.wait(for: "the question") { $0 }
        held.withValue { $0 = nil }
        try await stepped.step(by: TimeLimits.seconds(1000))
        handler(.useCredential, ann)
        #expect(try await delegate.callsUntilInvalid().contains(.completed(1, nil)))
    }
}
