import Foundation
import TestSupport
import Testing
import URLLoading

/// Challenges of custom protocols.
@Suite(.leavesNothing) struct ProtocolChallengeTests {
    /// Records the answer to the challenge, and ends the load, if it has one, accordingly.
    private final class Sender: NSObject, URLAuthenticationChallengeSender, @unchecked Sendable {
        // Sendable because it never changes.
        let loading: ScriptedProtocol?
        let said: EventRecorder<String>

        init(_ loading: ScriptedProtocol?, _ said: EventRecorder<String>) {
            self.loading = loading
            self.said = said
        }

        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
            said.record("use \(credential.user ?? "nobody")")
            loading?.answer("in")
        }

        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {
            said.record("without")
            loading?.answer("out")
        }

        func cancel(_ challenge: URLAuthenticationChallenge) { said.record("cancel") }

        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {
            said.record("default")
            loading?.answer("out")
        }

        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
            said.record("reject")
            loading?.answer("out")
        }
    }

    private func challenge(
        _ loading: ScriptedProtocol?, _ said: EventRecorder<String>, realm: String = "r"
    ) -> URLAuthenticationChallenge {
        let space = URLProtectionSpace(
            host: "x", port: 1, protocol: "mock", realm: realm,
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        return URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
            sender: Sender(loading, said))
    }

    private func script(_ said: EventRecorder<String>) -> ScriptedProtocol.Script {
        ScriptedProtocol.script { loading in
            loading.client?.urlProtocol(loading, didReceive: challenge(loading, said))
        }
    }

    private func calls(
        _ disposition: URLSession.AuthChallengeDisposition?, _ credential: URLCredential? = nil
    ) async throws -> (calls: [Call], said: [String]) {
        let said = EventRecorder<String>()
        let script = script(said)
        let delegate = AnsweringDelegate()
        if let disposition { delegate.challenge = { $0(disposition, credential) } }
        let session = URLSession(delegate) { $0.usesScripts() }
        session.dataTask(with: script.url()).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        #expect(try await script.calls.waitFor(count: 2) == ["start", "stop"])
        // The sender is called on another queue, when the task may have ended.
        return (calls, try await said.waitFor(count: 1))
    }

    private static let credential = URLCredential(user: "me", password: "x", persistence: .none)

    private func result(_ text: String) -> [Call] {
        [
            .created(1), .challenge(1, "HTTPBasic r", 0), .response(1, 200), .data(1, text), .metrics(1),
            .completed(1, nil),
            .invalid,
        ]
    }

    // MISC-18, MISC-19, AUTH-2
    @Test("a credential") func aCredential() async throws {
        let given = try await calls(.useCredential, Self.credential)
        #expect(given.calls == result("in"))
        #expect(given.said == ["use me"])
    }

    // MISC-19
    @Test(
        "going on without one",
        arguments: zip(
            [URLSession.AuthChallengeDisposition.useCredential, .performDefaultHandling, .rejectProtectionSpace],
            ["without", "default", "reject"]))
    func goingOnWithoutOne(disposition: URLSession.AuthChallengeDisposition, word: String) async throws {
        let given = try await calls(disposition)
        #expect(given.calls == result("out"))
        #expect(given.said == [word])
    }

    // T-37
    @Test("giving up") func givingUp() async throws {
        let given = try await calls(.cancelAuthenticationChallenge, Self.credential)
        #expect(
            given.calls == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        #expect(given.said == ["cancel"])
    }

    // MISC-19: without a delegate
    @Test("without a delegate") func withoutADelegate() async throws {
        let said = EventRecorder<String>()
        let (data, _) = try await URLSession { $0.usesScripts() }.data(from: script(said).url())
        #expect(String(decoding: data, as: UTF8.self) == "out")
        #expect(said.events == ["default"])
    }

    // S-54, S-55: a challenge of the connection is the session's to answer, if it can
    @Test("a challenge of the connection") func aChallengeOfTheConnection() async throws {
        final class SessionDelegate: NSObject, URLSessionDelegate, @unchecked Sendable {
            func urlSession(
                _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
            ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
                (.useCredential, ProtocolChallengeTests.credential)
            }
        }
        let said = EventRecorder<String>()
        let script = ScriptedProtocol.script { loading in
            let space = URLProtectionSpace(
                host: "x", port: 1, protocol: "mock", realm: nil,
                authenticationMethod: NSURLAuthenticationMethodNTLM)
            loading.client?.urlProtocol(
                loading,
                didReceive: URLAuthenticationChallenge(
                    protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil,
                    error: nil, sender: Sender(loading, said)))
        }
        let session = URLSession(SessionDelegate()) { $0.usesScripts() }
        let (data, _) = try await session.data(from: script.url())
        session.invalidateAndCancel()
        #expect(String(decoding: data, as: UTF8.self) == "in")
        #expect(said.events == ["use me"])
    }

    // MISC-18: a protocol may ask again before it has its answer, and each challenge can be withdrawn
    @Test("two challenges at once", arguments: [0, 1]) func twoChallengesAtOnce(first: Int) async throws {
        let said = EventRecorder<String>()
        let asked = Signal("the challenges")
        let answered = Signal("the answer to one")
        let replies = Watched<[AnsweringDelegate.ChallengeReply]>([])
        let script = ScriptedProtocol.script { loading in
            let challenges = ["a", "b"].map { challenge(nil, said, realm: $0) }
            for challenge in challenges { loading.client?.urlProtocol(loading, didReceive: challenge) }
            DispatchQueue.global().async {
                try? answered.wait()
                loading.client?.urlProtocol(loading, didCancel: challenges[1 - first])
                loading.respond()
            }
        }
        let delegate = AnsweringDelegate()
        delegate.challenge = { reply in
            let count = replies.withValue { replies in
                replies.append(reply)
                return replies.count
            }
            if count == 2 { asked.fire() }
        }
        let session = URLSession(delegate) { $0.usesScripts() }
        let task = session.dataTask(with: script.url())
        task.resume()
        session.finishTasksAndInvalidate()
        try await asked.wait()
        replies.current[first](.rejectProtectionSpace, nil)
        answered.fire()
        try await delegate.calls.wait(for: .response(1, 200))
        replies.current[1 - first](.useCredential, Self.credential)
        task.cancel()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic a", 0), .challenge(1, "HTTPBasic b", 0), .response(1, 200),
                .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        // Senders are called on the queue of the protocols too.
        #expect(try await script.calls.waitFor(count: 2) == ["start", "stop"])
        #expect(said.events == ["reject"])
    }

    // MISC-18: the answer to what was withdrawn goes nowhere
    @Test("a challenge that is withdrawn") func aChallengeThatIsWithdrawn() async throws {
        let said = EventRecorder<String>()
        let asked = Signal("the question")
        let replies = Watched<[AnsweringDelegate.ChallengeReply]>([])
        let script = ScriptedProtocol.script { loading in
            let challenge = challenge(loading, said)
            loading.client?.urlProtocol(loading, didReceive: challenge)
            DispatchQueue.global().async {
                try? asked.wait()
                loading.client?.urlProtocol(loading, didCancel: challenge)
                loading.respond()
            }
        }
        let delegate = AnsweringDelegate()
        delegate.challenge = { reply in
            replies.withValue { $0.append(reply) }
            asked.fire()
        }
        let session = URLSession(delegate) { $0.usesScripts() }
        let task = session.dataTask(with: script.url())
        task.resume()
        session.finishTasksAndInvalidate()
        try await delegate.calls.wait(for: .response(1, 200))
        replies.current.first?(.useCredential, Self.credential)
        task.cancel()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .challenge(1, "HTTPBasic r", 0), .response(1, 200), .metrics(1), .completed(1, .cancelled),
                .invalid,
            ])
        #expect(said.events == [])
    }
}
