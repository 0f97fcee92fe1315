import BackgroundTransfers
import Foundation
import LoadingPipeline
import TestSupport
import Testing
import URLLoading

/// Challenges of background transfers, which the program answers.
@Suite(.leavesNothing) struct BackgroundChallengeTests {
    private let service: BackgroundServiceInProcess

    init() throws { service = try BackgroundServiceInProcess() }

    private func session(_ delegate: any URLSessionDelegate) -> URLSession {
        let configuration = service.configuration()
        configuration.urlCredentialStorage = nil
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    private func calls(_ url: URL, _ delegate: BackgroundChallengeDelegate) async throws -> [Call] {
        let session = session(delegate)
        session.downloadTask(with: url).resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        session.finishTasksAndInvalidate()
        let calls = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
        service.stop()
        return calls
    }

    private func server(password: String) throws -> ScriptedServer {
        let token = Data("user:\(password)".utf8).base64EncodedString()
        return try ScriptedServer.answering { request in
            if request["Authorization"] == "Basic \(token)" { return .text("secret") }
            return .text("who?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"r\"")
        }
    }

    // AUTH-9, AUTH-33
    @Test("a password") func aPassword() async throws {
        let server = try server(password: "right")
        defer { server.stop() }
        let delegate = BackgroundChallengeDelegate { challenge, reply in
            let password = challenge.previousFailureCount == 0 ? "wrong" : "right"
            reply(.useCredential, URLCredential(user: "user", password: password, persistence: .forSession))
        }
        let calls = try await calls(server.url(), delegate)
        #expect(calls.map(\.kind) == ["challenge", "challenge", "downloaded", "completed", "invalid"])
        #expect(calls.contains(.downloaded(1, 6)))
        #expect(calls.contains(.completed(1, nil)))
    }

    // AUTH-29
    @Test("no password") func noPassword() async throws {
        let server = try server(password: "right")
        defer { server.stop() }
        let delegate = BackgroundChallengeDelegate { $1(.performDefaultHandling, nil) }
        #expect(
            try await calls(server.url(), delegate).suffix(3) == [.downloaded(1, 4), .completed(1, nil), .invalid])
    }

    @Test("a challenge that cancels") func aChallengeThatCancels() async throws {
        let server = try server(password: "right")
        defer { server.stop() }
        let delegate = BackgroundChallengeDelegate { $1(.cancelAuthenticationChallenge, nil) }
        #expect(try await calls(server.url(), delegate).suffix(2) == [.completed(1, .cancelled), .invalid])
    }

    // TLS-1, AUTH-33: a delegate that trusts a self-signed certificate, and one that does not
    @Test("the server's certificate", arguments: [true, false]) func theServersCertificate(isTrusted: Bool) async throws
    {
        let server = try ScriptedServer.answering(
            .text("secret"), tls: TLSServerOptions(TestIdentity.selfSigned(.localhost)))
        defer { server.stop() }
        let delegate = BackgroundChallengeDelegate { challenge, reply in
            guard let trust = challenge.protectionSpace.serverTrust else { return reply(.performDefaultHandling, nil) }
            #expect(SecTrustCopyCertificateChain(trust).map { ($0 as? [SecCertificate])?.isEmpty } == false)
            if isTrusted {
                reply(.useCredential, URLCredential(trust: trust))
            } else {
                reply(.rejectProtectionSpace, nil)
            }
        }
        let calls = try await calls(server.url(), delegate)
        #expect(calls.first?.kind == "challenge")
        #expect(
            calls.suffix(2)
                == (isTrusted
                    ? [.completed(1, nil), .invalid] : [.completed(1, .serverCertificateUntrusted), .invalid]))
        #expect(calls.contains(.downloaded(1, 6)) == isTrusted)
    }

    // AUTH-31, AUTH-33, AUTH-12
    @Test(
        "the client's certificate", arguments: [true, false], [TLSServerOptions.Version.tls12, .tls13])
    func theClientsCertificate(isGiven: Bool, version: TLSServerOptions.Version) async throws {
        let authority = try TestCertificateAuthority(.authority("Client Root"))
        let identity = try authority.intermediate(.authority("Client Intermediate")).issue(.client("somebody"))
        let server = try ScriptedServer.answering(
            .text("secret"),
            tls: try TrustedAuthority.server().with {
                $0.clientCertificate = .required(trusting: [authority.root])
                $0.minimumVersion = version
                $0.maximumVersion = version
            })
        defer { server.stop() }
        let credential = try identity.credential()
        let names = EventRecorder<Int>()
        let delegate = BackgroundChallengeDelegate { challenge, reply in
            guard let issuers = challenge.protectionSpace.distinguishedNames, isGiven else {
                return reply(.performDefaultHandling, nil)
            }
            names.record(issuers.count)
            reply(.useCredential, credential)
        }
        let calls = try await calls(server.url(host: "localhost"), delegate)
        #expect(calls.contains(.downloaded(1, 6)) == isGiven)
        #expect(calls.contains(.completed(1, nil)) == isGiven)
        #expect(calls.filter { $0.kind == "challenge" }.count == 2)
        if isGiven {
            #expect(names.events == [1])
            #expect(server.connections.map { $0.handshake?.clientCertificate } == [identity.certificate])
        }
    }

    // TLS-5: the service has evaluated it
    @Test("the certificate of an untrusted server in an error") func theCertificateInAnError() async throws {
        let identity = try TestIdentity.selfSigned(.localhost)
        let server = try ScriptedServer.answering(.text("secret"), tls: TLSServerOptions(identity))
        defer { server.stop() }
        let delegate = BackgroundChallengeDelegate { $1(.performDefaultHandling, nil) }
        let session = session(delegate)
        let task = session.downloadTask(with: server.url())
        task.resume()
        _ = try await delegate.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        session.finishTasksAndInvalidate()
        _ = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
        service.stop()
        let error = try #require(task.error as? URLError)
        #expect(error.code == .serverCertificateUntrusted)
        let trust = try #require(error.failureURLPeerTrust)
        let leaf = try #require(SecTrustGetCertificateAtIndex(trust, 0))
        #expect(SecCertificateCopyData(leaf) as Data == Data(identity.certificate.der))
    }

    /// The challenge of a task that is in the notice.
    private static func challenge(in notice: ServiceNotice) -> TransferChallenge? {
        switch notice {
        case .task(let state): return state.challenge
        case .report(_, let report):
            if case .challenge(let challenge) = report.event { return challenge }
            return nil
        default: return nil
        }
    }

    /// - Parameter givesIdentities: If it is asked about server trust and client certificates. Nil in earlier versions.
    private func attach(
        _ owner: UInt64, asksServerTrust: Bool = false, givesIdentities: Bool? = nil
    ) throws -> BackgroundPeer {
        let peer = BackgroundPeer(try service.connect().get())
        var description = SessionDescription(identifier: "test")
        (description.owner, description.hasStoredCredentials) = (owner, false)
        (description.asksServerTrust, description.givesIdentities) = (asksServerTrust, givesIdentities)
        try peer.send(.hello(ServiceHello(application: "app")), .attach(description, again: nil))
        return peer
    }

    private func nextChallenge(_ peer: BackgroundPeer) throws -> TransferChallenge {
        let notices = try peer.notices { Self.challenge(in: $0) != nil }
        return try #require(notices.last.flatMap { Self.challenge(in: $0) })
    }

    // AUTH-33, TLS-1: it may be about a certificate that the delegate has never seen
    @Test("an answer to a challenge of a service that was killed is no answer to that of the next one")
    func answerToAnEarlierService() async throws {
        let server = try server(password: "right")
        defer { server.stop() }
        let first = try attach(1)
        _ = try first.notices { $0 == .replayed }
        let request = TransferRequest(url: server.url().absoluteString, folder: "")
        try first.send(
            .create(TransferDescription(task: 1, kind: .download, request: request)), .resume(task: 1))
        let old = try nextChallenge(first)
        first.close()
        service.restart()
        let second = try attach(2)
        let new = try nextChallenge(second)
        #expect(new.identifier != old.identifier && new.asksTheSame(as: old))
        let credential = TransferAnswer.Decision.credential(user: "user", password: "right", isKept: false)
        try second.send(
            .answer(task: 1, TransferAnswer(to: old.identifier, decision: .cancel)),
            .answer(task: 1, TransferAnswer(to: new.identifier, decision: credential)))
        let notices = try second.notices { if case .ended = $0 { true } else { false } }
        guard case .ended(1, let end)? = notices.last else { throw BackgroundPeer.Unexpected() }
        #expect(end.outcome.code == nil && end.head?.status == 200)
        second.close()
        service.stop()
    }

    // AUTH-31, BG-5: it could not read the challenge
    @Test("a program with an earlier version is not asked for its certificate") func earlierVersion() async throws {
        let authority = try TestCertificateAuthority(.authority("Client Root"))
        let server = try ScriptedServer.answering(
            .text("secret"),
            tls: try TrustedAuthority.server().with { $0.clientCertificate = .asked(trusting: [authority.root]) })
        defer { server.stop() }
        /// Answers challenges by default, up to one for a certificate or the end.
        func last(_ peer: BackgroundPeer) throws -> ServiceNotice? {
            while true {
                let notices = try peer.notices {
                    if case .ended = $0 { true } else { Self.challenge(in: $0) != nil }
                }
                guard let notice = notices.last, let challenge = Self.challenge(in: notice),
                    challenge.scheme != .clientCertificate
                else { return notices.last }
                try peer.send(
                    .answer(task: 1, TransferAnswer(to: challenge.identifier, decision: .defaultHandling)))
            }
        }
        let first = try attach(1, asksServerTrust: true, givesIdentities: true)
        _ = try first.notices { $0 == .replayed }
        let request = TransferRequest(url: server.url(host: "localhost").absoluteString, folder: "")
        try first.send(
            .create(TransferDescription(task: 1, kind: .download, request: request)), .resume(task: 1))
        #expect(try last(first).flatMap { Self.challenge(in: $0) }?.scheme == .clientCertificate)
        first.close()
        let second = try attach(2, asksServerTrust: true)
        guard case .ended(1, let end)? = try last(second) else { throw BackgroundPeer.Unexpected() }
        #expect(end.outcome.code == nil && end.head?.status == 200)
        second.close()
        service.stop()
    }

    // TLS-1: a delegate that may decide is never passed over
    @Test("a certificate while no program is there") func aCertificateWhileNoProgramIsThere() async throws {
        let server = try ScriptedServer.answering(
            .text("secret"), tls: TLSServerOptions(TestIdentity.selfSigned(.localhost)))
        defer { server.stop() }
        let asked = Signal("the challenge")
        let first = BackgroundChallengeDelegate { _, _ in asked.fire() }
        let leaving = session(first)
        leaving.downloadTask(with: server.url()).resume()
        try await asked.wait()
        leaving.finishTasksAndInvalidate()
        _ = try await first.calls.waitUntil("the session's end") { $0.last == .invalid }
        #expect(server.requests.isEmpty)
        let second = BackgroundChallengeDelegate { challenge, reply in
            reply(.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
        let session = session(second)
        _ = try await second.calls.waitUntil("the task's end") { $0.contains { $0.isCompletion } }
        session.finishTasksAndInvalidate()
        let calls = try await second.calls.waitUntil("the session's end") { $0.last == .invalid }
        #expect(calls.map(\.kind) == ["challenge", "downloaded", "completed", "invalid"])
        service.stop()
    }
}
