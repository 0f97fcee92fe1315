import Foundation
import TestSupport
import Testing
import URLLoading

/// Client certificate challenges, over real TLS.
@Suite(.leavesNothing) struct ClientCertificateTests {
    private let authority: TestCertificateAuthority
    private let identity: TestIdentity

    init() throws {
        authority = try TestCertificateAuthority(.authority("Client Root"))
        identity = try authority.intermediate(.authority("Client Intermediate")).issue(.client("somebody"))
    }

    private func server(
        _ certificate: TLSServerOptions.ClientCertificate, _ version: TLSServerOptions.Version
    ) throws -> ScriptedServer {
        try .answering(
            .text("hello"),
            tls: try TrustedAuthority.server().with {
                $0.clientCertificate = certificate
                $0.minimumVersion = version
                $0.maximumVersion = version
            })
    }

    private func calls(_ server: ScriptedServer, _ delegate: any ChallengeLogging) async throws -> [String] {
        let queue = OperationQueue(name: "calls", width: 1)
        delegate.log.queue = queue
        let session = URLSession(delegate, queue: queue)
        session.dataTask(with: server.url(host: "localhost")).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.log.callsUntilInvalid()
        #expect(delegate.log.faults.events == [])
        return calls
    }

    /// Answers with the credential, and uses default handling for server trust.
    private func log(
        _ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential? = nil
    ) -> ChallengeLog {
        ChallengeLog { challenge, reply in
            challenge.protectionSpace.serverTrust == nil
                ? reply(disposition, credential) : reply(.performDefaultHandling, nil)
        }
    }

    private let asked = [
        "created 1", "the session is asked: ServerTrust of localhost",
        "the session is asked: ClientCertificate of localhost",
    ]
    private let success = ["1 response 200", "1 data hello", "1 metrics", "1 completed 0", "invalid"]

    private func failure(_ code: Int) -> [String] { ["1 metrics", "1 completed \(code)", "invalid"] }

    // AUTH-31, S-54, AUTH-12
    @Test("a certificate is shown", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func aCertificateIsShown(version: TLSServerOptions.Version) async throws {
        let server = try server(.required(trusting: [authority.root]), version)
        defer { server.stop() }
        let names = EventRecorder<[Data]>()
        let credential = try identity.credential()
        let log = ChallengeLog { challenge, reply in
            guard let issuers = challenge.protectionSpace.distinguishedNames else {
                return reply(.performDefaultHandling, nil)
            }
            names.record(issuers)
            reply(.useCredential, credential)
        }
        #expect(try await calls(server, SessionLevelDelegate(log)) == asked + success)
        #expect(server.connections.map { $0.handshake?.clientCertificate } == [identity.certificate])
        let root = try #require(SecCertificateCreateWithData(nil, Data(authority.root.der) as CFData))
        #expect(names.events.map(\.count) == [1])
        #expect(SecCertificateCopySubjectSummary(root) as String? == "Client Root")
        #expect(names.events.first?.first?.range(of: Data("Client Root".utf8)) != nil)
    }

    // S-55
    @Test("the task's method") func theTasksMethod() async throws {
        let server = try server(.required(trusting: [authority.root]), .tls13)
        defer { server.stop() }
        let delegate = TaskLevelDelegate(log(.useCredential, try identity.credential()))
        #expect(
            try await calls(server, delegate) == [
                "created 1", "task 1 is asked: ServerTrust of localhost",
                "task 1 is asked: ClientCertificate of localhost",
            ] + success)
    }

    // AUTH-4, AUTH-6, AUTH-31: what is no certificate, and a server that can do without
    @Test("no certificate for a server that asks", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func noCertificateForAServerThatAsks(version: TLSServerOptions.Version) async throws {
        let server = try server(.asked(trusting: [authority.root]), version)
        defer { server.stop() }
        let password = URLCredential(user: "a", password: "b", persistence: .none)
        for (disposition, credential) in [
            (.useCredential, nil), (.useCredential, password), (.performDefaultHandling, nil),
            (.rejectProtectionSpace, nil),
        ] as [(URLSession.AuthChallengeDisposition, URLCredential?)] {
            #expect(
                try await calls(server, SessionLevelDelegate(log(disposition, credential))) == asked + success)
        }
        #expect(
            try await calls(server, SessionLevelDelegate(log(.cancelAuthenticationChallenge)))
                == asked + failure(-999))
        #expect(
            try await calls(server, UnaskedDelegate(log(.cancelAuthenticationChallenge))) == ["created 1"] + success)
    }

    // TLS-5, AUTH-31
    @Test(
        "no certificate, or the wrong one, for a server that insists",
        arguments: [TLSServerOptions.Version.tls12, .tls13])
    func noCertificateForAServerThatInsists(version: TLSServerOptions.Version) async throws {
        let server = try server(.required(trusting: [authority.root]), version)
        defer { server.stop() }
        #expect(
            try await calls(server, SessionLevelDelegate(log(.performDefaultHandling))) == asked + failure(-1206))
        #expect(
            try await calls(server, UnaskedDelegate(log(.performDefaultHandling))) == ["created 1"] + failure(-1206))
        let unknownCredential = try TestIdentity.selfSigned(.client("unknown")).credential()
        #expect(
            try await calls(server, SessionLevelDelegate(log(.useCredential, unknownCredential))) == asked
                + failure(-1205))
    }

    // AUTH-2, AUTH-3: each new connection asks, and none is resumed past the question
    @Test("later connections", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func laterConnections(version: TLSServerOptions.Version) async throws {
        let server = try ScriptedServer.answering(
            tls: try TrustedAuthority.server().with {
                $0.clientCertificate = .asked(trusting: [authority.root])
                $0.minimumVersion = version
                $0.maximumVersion = version
            }
        ) { request in
            var response = CannedResponse.text("hello")
            response.keepsAlive = request.path != "/closing"
            return response
        }
        defer { server.stop() }
        let credential = try identity.credential()
        let answers = Watched([nil, credential])
        let log = ChallengeLog { challenge, reply in
            if challenge.protectionSpace.serverTrust != nil { return reply(.performDefaultHandling, nil) }
            reply(.useCredential, answers.withValue { $0.removeFirst() })
        }
        let session = URLSession(SessionLevelDelegate(log))
        for path in ["/closing", "/", "/closing"] {
            _ = try await session.data(from: server.url(path, host: "localhost"))
        }
        session.invalidateAndCancel()
        #expect(
            try await log.callsUntilInvalid().filter { $0.contains("Client") }
                == Array(repeating: "the session is asked: ClientCertificate of localhost", count: 2))
        #expect(server.connections.map { $0.handshake?.clientCertificate } == [nil, identity.certificate])
    }

    // T-5
    @Test("cancelled while asked") func cancelledWhileAsked() async throws {
        let server = try server(.required(trusting: [authority.root]), .tls13)
        defer { server.stop() }
        let replies = Watched<[ChallengeLog.Reply]>([])
        let log = ChallengeLog { challenge, reply in
            if challenge.protectionSpace.serverTrust != nil { return reply(.performDefaultHandling, nil) }
            replies.withValue { $0.append(reply) }
        }
        let session = URLSession(SessionLevelDelegate(log))
        let task = session.dataTask(with: server.url(host: "localhost"))
        task.resume()
        let reply = try await replies.wait(for: "the question") { $0.first }
        task.cancel()
        session.finishTasksAndInvalidate()
        #expect(try await log.callsUntilInvalid() == asked + failure(-999))
        reply(.useCredential, try identity.credential())
    }
}
