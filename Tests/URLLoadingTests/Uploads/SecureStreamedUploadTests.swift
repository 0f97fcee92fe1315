import Foundation
import TestSupport
import Testing
import URLLoading

/// When a streamed upload requests its stream: after a connection is available (S-50), so over TLS after the server is
/// trusted (S-49).
@Suite(.leavesNothing) struct SecureStreamedUploadTests {
    private static let body = [UInt8].pattern(count: 5_000)
    private static let size = Int64(body.count)
    private static let success: [Call] = [
        .sent(1, size, -1), .response(1, 200), .data(1, "PUT \(body.weight)"), .metrics(1), .completed(1, nil),
        .invalid,
    ]

    private func calls(
        _ request: URLRequest, _ delegate: RecordingDelegate, _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> [Call] {
        var request = request
        request.httpMethod = "PUT"
        let session = URLSession(delegate, configure)
        session.uploadTask(withStreamedRequest: request).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    private static let trusting: @Sendable (URLAuthenticationChallenge, RecordingDelegate.ChallengeHandler) -> Void = {
        $1(.useCredential, $0.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
    }

    /// A server with an untrusted certificate.
    private func unknownServer() throws -> TLSServerOptions {
        _ = try TrustedAuthority.authority
        return TLSServerOptions(try TestIdentity.selfSigned(.localhost))
    }

    // S-49, S-50
    @Test("over TLS the server is asked about first") func overTLS() async throws {
        let server = try ScriptedServer.weighing(tls: unknownServer())
        defer { server.stop() }
        let delegate = RecordingUploadDelegate(Self.body)
        delegate.challenge = Self.trusting
        #expect(
            try await calls(URLRequest(url: server.url(host: "localhost")), delegate)
                == [.created(1), .challenge(1, "ServerTrust", 0), .needsStream(1, 0)] + Self.success)
    }

    // S-49, S-50: with a connection that others may share
    @Test("over HTTP/2 too") func overHTTP2() async throws {
        let server = try ScriptedServer(tls: try unknownServer().with { $0.applicationProtocols = ["h2"] }) {
            let http2 = try HTTP2ServerConnection($0)
            let stream = try http2.readRequest()
            var body: [UInt8] = []
            while case let frame = try http2.readFrame(HTTP2ServerConnection.FrameType.data) {
                body += frame.payload
                if frame.flags & 1 != 0 { break }
            }
            try http2.respond(on: stream, body: "PUT \(body.weight)")
            try $0.waitForClose()
        }
        defer { server.stop() }
        let delegate = RecordingUploadDelegate(Self.body)
        delegate.challenge = Self.trusting
        #expect(
            try await calls(URLRequest(url: server.url(host: "localhost")), delegate)
                == [.created(1), .challenge(1, "ServerTrust", 0), .needsStream(1, 0)] + Self.success)
    }

    // S-49, S-50, AUTH-31
    @Test("over TLS a certificate is asked for first", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func aServerThatAsksForACertificate(version: TLSServerOptions.Version) async throws {
        let clients = try TestCertificateAuthority(.authority("Clients"))
        let identity = try clients.issue(.client("somebody"))
        let server = try ScriptedServer.weighing(
            tls: unknownServer().with {
                $0.clientCertificate = .required(trusting: [clients.root])
                $0.minimumVersion = version
                $0.maximumVersion = version
            })
        defer { server.stop() }
        let credential = try identity.credential()
        let delegate = RecordingUploadDelegate(Self.body)
        delegate.challenge = { challenge, reply in
            guard challenge.protectionSpace.distinguishedNames != nil else { return Self.trusting(challenge, reply) }
            reply(.useCredential, credential)
        }
        #expect(
            try await calls(URLRequest(url: server.url(host: "localhost")), delegate)
                == [
                    .created(1), .challenge(1, "ServerTrust", 0), .challenge(1, "ClientCertificate", 0),
                    .needsStream(1, 0),
                ] + Self.success)
        #expect(server.connections.map { $0.handshake?.clientCertificate } == [identity.certificate])
    }

    // S-49, S-50, R-6: the next stream is asked for when the next server is trusted
    @Test("a redirect to another server") func aRedirectToAnotherServer() async throws {
        let other = try ScriptedServer.weighing(tls: unknownServer())
        defer { other.stop() }
        let target = other.url(host: "localhost").absoluteString
        let server = try ScriptedServer.answering(tls: unknownServer()) { _ in .redirect(to: target, status: 307) }
        defer { server.stop() }
        let delegate = RecordingUploadDelegate(Self.body)
        delegate.challenge = Self.trusting
        let calls = try await calls(URLRequest(url: server.url(host: "localhost")), delegate)
        #expect(
            calls.withoutSent
                == [
                    .created(1), .challenge(1, "ServerTrust", 0), .needsStream(1, 0), .redirect(1, 307),
                    .challenge(1, "ServerTrust", 0), .needsStream(1, 0),
                ] + Self.success.withoutSent)
    }

    // S-49, AUTH-6, AUTH-7: no stream is requested for an untrusted server
    @Test(
        "a server that is not trusted",
        arguments: [
            (URLSession.AuthChallengeDisposition.cancelAuthenticationChallenge, URLError.Code.cancelled),
            (.performDefaultHandling, .serverCertificateUntrusted),
        ])
    func aServerThatIsNotTrusted(
        disposition: URLSession.AuthChallengeDisposition, code: URLError.Code
    ) async throws {
        let server = try ScriptedServer.weighing(tls: unknownServer())
        defer { server.stop() }
        let delegate = RecordingUploadDelegate(Self.body)
        delegate.challenge = { $1(disposition, nil) }
        #expect(
            try await calls(URLRequest(url: server.url(host: "localhost")), delegate) == [
                .created(1), .challenge(1, "ServerTrust", 0), .metrics(1), .completed(1, code), .invalid,
            ])
    }

    // S-50
    @Test("in the clear there is a connection first") func inTheClear() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let connections = EventRecorder<Int>()
        let delegate = RecordingUploadDelegate()
        delegate.stream = { _, answer in
            // The server may be slower to take the connection than the client is to make it.
            _ = try? server.connection(0)
            connections.record(server.connectionCount)
            answer(InputStream(data: Data(Self.body)))
        }
        #expect(
            try await calls(URLRequest(url: server.url()), delegate)
                == [.created(1), .needsStream(1, 0)] + Self.success)
        #expect(connections.events == [1])
    }

    // S-50
    @Test("no stream is requested without a connection") func whereThereIsNoConnection() async throws {
        let port = try RefusingPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(port.port)/"))
        #expect(
            try await calls(URLRequest(url: url), RecordingUploadDelegate(Self.body)) == [
                .created(1), .metrics(1), .completed(1, .cannotConnectToHost), .invalid,
            ])
    }

    // S-50, CACHE-9
    @Test("no stream is requested if only the cache may answer") func whereOnlyTheCacheMayAnswer() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let request = URLRequest(url: server.url(), cachePolicy: .returnCacheDataDontLoad)
        #expect(
            try await calls(request, RecordingUploadDelegate(Self.body)) == [
                .created(1), .metrics(1), .completed(1, .resourceUnavailable), .invalid,
            ])
        #expect(server.connectionCount == 0)
    }

    // S-50, CONN-10: while the delegate thinks, the connection is one that is idle
    @Test("a connection that the server closes meanwhile") func aConnectionThatTheServerClosesMeanwhile() async throws {
        let server = try ScriptedServer { connection in
            if connection.index == 0 { return connection.close() }
            let request = try connection.readRequest()
            try connection.send(.text("\(request.method) \(request.body.weight)"), to: request)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = RecordingUploadDelegate()
        delegate.stream = { _, answer in
            Task {
                try? await server.connection(0).waitUntilClosed()
                answer(InputStream(data: Data(Self.body)))
            }
        }
        #expect(
            try await calls(URLRequest(url: server.url()), delegate)
                == [.created(1), .needsStream(1, 0)] + Self.success)
        #expect(server.connectionCount == 2)
    }

    // S-50, T-2: what is given to a task that is suspended waits for it
    @Test("a task that is suspended meanwhile") func aTaskThatIsSuspendedMeanwhile() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let delegate = RecordingUploadDelegate(Self.body)
        delegate.during = { call, _, task in
            if case .needsStream = call { task?.suspend() }
        }
        let given = Signal("the stream is given")
        delegate.stream = { _, answer in
            answer(InputStream(data: Data(Self.body)))
            given.fire()
        }
        let session = URLSession(delegate)
        let task = session.uploadTask(withStreamedRequest: URLRequest(url: server.url()).with { $0.httpMethod = "PUT" })
        task.resume()
        try await given.wait()
        #expect(task.state == .suspended)
        #expect(server.requests.isEmpty)
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [.created(1), .needsStream(1, 0)] + Self.success)
        #expect(server.connectionCount == 1)
    }

    // S-50, T-5: the connection is the next task's
    @Test("a task that is cancelled meanwhile") func aTaskThatIsCancelledMeanwhile() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let delegate = RecordingUploadDelegate(Self.body)
        delegate.during = { call, _, task in
            if case .needsStream(1, _) = call { task?.cancel() }
        }
        let session = URLSession(delegate)
        session.uploadTask(withStreamedRequest: URLRequest(url: server.url()).with { $0.httpMethod = "PUT" }).resume()
        _ = try await delegate.calls(untilCompletions: 1)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .needsStream(1, 0), .metrics(1), .completed(1, .cancelled), .created(2), .response(2, 200),
                .data(2, "GET \([UInt8]().weight)"), .metrics(2), .completed(2, nil), .invalid,
            ])
        #expect(server.connectionCount == 1)
    }

    // S-50, T-51: without a stream nothing is sent
    @Test("a delegate without a stream") func aDelegateWithoutAStream() async throws {
        let server = try ScriptedServer.weighing(tls: unknownServer())
        defer { server.stop() }
        let delegate = RecordingUploadDelegate()
        delegate.challenge = Self.trusting
        #expect(
            try await calls(URLRequest(url: server.url(host: "localhost")), delegate) == [
                .created(1), .challenge(1, "ServerTrust", 0), .needsStream(1, 0), .metrics(1),
                .completed(1, .requestBodyStreamExhausted), .invalid,
            ])
        #expect(server.requests.isEmpty)
    }
}
