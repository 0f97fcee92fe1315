import Foundation
import TestSupport
import Testing
import URLLoading

/// Streams that start TLS.
@Suite(.leavesNothing) struct SecureStreamTests {
    /// The server waits for it, because the handshake could fail before.
    private let hasCalled = Signal("the last call of the client")

    /// Sends a greeting, starts TLS on request, and echoes.
    private func server(_ options: TLSServerOptions) throws -> ScriptedServer {
        let tls = try TLSServer(options)
        return try ScriptedServer { [hasCalled] connection in
            try connection.send("220 ready\r\n")
            _ = try connection.receive(through: "STARTTLS\r\n")
            try connection.send("220 go\r\n")
            try connection.wait(for: hasCalled)
            do { try connection.startTLS(tls) } catch { return }
            while case let bytes = try connection.receive(), !bytes.isEmpty { try connection.send(bytes) }
        }
    }

    private func unknown() throws -> TLSServerOptions {
        _ = try TrustedAuthority.authority
        return TLSServerOptions(try TestIdentity.selfSigned(.localhost))
    }

    /// A dialog with STARTTLS.
    private func run(_ server: ScriptedServer, _ delegate: RecordingStreamDelegate) async throws -> [Call] {
        let session = URLSession(delegate)
        let task = session.streamTask(to: server)
        delegate.read(task, 11, 11)
        delegate.write(task, "STARTTLS\r\n")
        task.resume()
        try await delegate.calls.wait(for: .read("220 ready\r\n", false, nil))
        delegate.read(task, 8, 8)
        task.startSecureConnection()
        // Asked for once more, it is nothing.
        task.startSecureConnection()
        delegate.write(task, "secret")
        delegate.read(task, 6, 6)
        task.closeWrite()
        delegate.read(task, 1, 1)
        session.finishTasksAndInvalidate()
        hasCalled.fire()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    private let start: [Call] = [
        .created(1), .written(nil), .read("220 ready\r\n", false, nil), .read("220 go\r\n", false, nil),
    ]

    // STREAM-6, TLS-4
    @Test("a server that is trusted") func trusted() async throws {
        let server = try server(TrustedAuthority.server())
        defer { server.stop() }
        let calls = try await run(server, RecordingStreamDelegate())
        #expect(Set(calls.prefix(4)) == Set(start))
        #expect(
            calls.dropFirst(4) == [
                .written(nil), .writeClosed(1), .read("secret", false, nil), .readClosed(1), .read(nil, true, nil),
                .completed(1, nil), .invalid,
            ])
        try await server.finish()
        #expect(try await server.connection(0).end == .closeNotify)
    }

    // STREAM-6: the task's method is asked, though the session's is there too
    @Test("a server with an untrusted certificate", arguments: [true, false]) func unknown(isTrusted: Bool) async throws
    {
        let server = try server(unknown())
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        delegate.challenge = { challenge, answer in
            guard isTrusted, let trust = challenge.protectionSpace.serverTrust else {
                return answer(.performDefaultHandling, nil)
            }
            answer(.useCredential, URLCredential(trust: trust))
        }
        let calls = try await run(server, delegate)
        #expect(Set(calls.prefix(4)) == Set(start))
        let rest: [Call] =
            isTrusted
            ? [
                .written(nil), .writeClosed(1), .read("secret", false, nil), .readClosed(1), .read(nil, true, nil),
                .completed(1, nil), .invalid,
            ]
            : [
                .read(nil, false, .serverCertificateUntrusted), .read(nil, false, .serverCertificateUntrusted),
                .written(.serverCertificateUntrusted), .completed(1, .serverCertificateUntrusted), .invalid,
            ]
        #expect(Array(calls.dropFirst(4)) == [.challenge(1, "ServerTrust", 0)] + rest)
    }

    // STREAM-6: the bytes are not authenticated
    @Test("bytes before the handshake") func bytesBeforeTheHandshake() async throws {
        let server = try ScriptedServer { connection in
            try connection.send("220 go\r\nEVIL")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        let session = URLSession(delegate)
        let task = session.streamTask(to: server)
        delegate.read(task, 8, 8)
        task.startSecureConnection()
        delegate.read(task, 4, 4)
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .read("220 go\r\n", false, nil), .read(nil, false, .secureConnectionFailed),
                .completed(1, .secureConnectionFailed), .invalid,
            ])
    }

    // STREAM-4, STREAM-6
    @Test("cancelled while the delegate is asked") func cancelledWhileAsked() async throws {
        let server = try server(unknown())
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        let session = URLSession(delegate)
        let task = session.streamTask(to: server)
        delegate.challenge = { _, _ in task.cancel() }
        delegate.read(task, 11, 11)
        delegate.write(task, "STARTTLS\r\n")
        delegate.read(task, 8, 8)
        task.startSecureConnection()
        delegate.read(task, 1, 1)
        task.resume()
        session.finishTasksAndInvalidate()
        hasCalled.fire()
        let calls = try await delegate.callsUntilInvalid()
        #expect(
            calls.suffix(4) == [
                .challenge(1, "ServerTrust", 0), .read(nil, false, .cancelled), .completed(1, .cancelled), .invalid,
            ])
    }

    // STREAM-2: it may have been truncated by an attacker
    @Test("an end without close_notify") func truncated() async throws {
        let tls = try TLSServer(TrustedAuthority.server())
        let server = try ScriptedServer { connection in
            try connection.startTLS(tls)
            try connection.send("half")
            connection.closeAbruptly()
        }
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        let session = URLSession(delegate)
        let task = session.streamTask(to: server)
        task.startSecureConnection()
        delegate.read(task, 4, 4)
        delegate.read(task, 1, 1)
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .read("half", false, nil), .read(nil, false, .networkConnectionLost),
                .completed(1, .networkConnectionLost), .invalid,
            ])
    }
}
