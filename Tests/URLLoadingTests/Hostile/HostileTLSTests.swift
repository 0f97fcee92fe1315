import Foundation
import TestSupport
import Testing
import URLLoading

/// Untrusted servers, and violations of TLS.
@Suite(.leavesNothing) struct HostileTLSTests {
    /// A server that must not receive a request, and the expected error.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let code: URLError.Code
        let options: @Sendable () throws -> TLSServerOptions

        init(_ name: String, _ code: URLError.Code, _ options: @escaping @Sendable () throws -> TLSServerOptions) {
            testDescription = name
            self.code = code
            self.options = options
        }
    }

    private static let untrusted = [
        Case("expired", .serverCertificateHasBadDate) {
            try TrustedAuthority.server(.localhost.with { $0.validity = .expired })
        },
        Case("not yet valid", .serverCertificateNotYetValid) {
            try TrustedAuthority.server(.localhost.with { $0.validity = .notYetValid })
        },
        Case("another host's", .serverCertificateUntrusted) { try TrustedAuthority.server(.server("other.example")) },
        Case("another address's", .serverCertificateUntrusted) { try TrustedAuthority.server(.server("127.0.0.2")) },
        Case("a host in the common name alone", .serverCertificateUntrusted) {
            try TrustedAuthority.server(.serverByCommonName("localhost"))
        },
        Case("signed by itself", .serverCertificateUntrusted) {
            try TLSServerOptions(TestIdentity.selfSigned(.localhost))
        },
        Case("of an unknown root", .serverCertificateHasUnknownRoot) {
            try TLSServerOptions(authority: TestCertificateAuthority())
        },
        Case("of an unknown root that comes along", .serverCertificateHasUnknownRoot) {
            let otherAuthority = try TestCertificateAuthority()
            return try TLSServerOptions(authority: otherAuthority).with { $0.sentChain = [otherAuthority.root] }
        },
        Case("a client's", .serverCertificateUntrusted) {
            try TrustedAuthority.server(.localhost.with { $0.purposes = [.clientAuthentication] })
        },
        Case("none", .secureConnectionFailed) { try TrustedAuthority.server().with { $0.showsCertificate = false } },
        Case("TLS 1.0 alone", .secureConnectionFailed) {
            try TrustedAuthority.server().with {
                $0.minimumVersion = .tls10
                $0.maximumVersion = .tls10
            }
        },
        Case("TLS 1.1 alone", .secureConnectionFailed) {
            try TrustedAuthority.server().with {
                $0.minimumVersion = .tls11
                $0.maximumVersion = .tls11
            }
        },
        Case("other protocols alone", .secureConnectionFailed) {
            try TrustedAuthority.server().with {
                $0.applicationProtocols = ["h3000"]
                $0.requiresApplicationProtocol = true
            }
        },
    ]

    // TLS-4, TLS-5: and not one byte of the request has gone out
    @Test("a server that is not to be trusted", arguments: untrusted)
    func aServerThatIsNotToBeTrusted(server: Case) async throws {
        // The authority has to be in place where the server's certificate is of another.
        _ = try TrustedAuthority.authority
        let name = server.testDescription
        let code = server.code
        let server = try ScriptedServer.answering(tls: server.options()) { _ in .text("never") }
        defer { server.stop() }
        let host = name == "another address's" ? "127.0.0.1" : "localhost"
        #expect(try await LoadRecorder.load(server.url(host: host)) == [.failed(code), .invalid])

        // T-48, ERR-2, ERR-3: the same by handler, once, with all details
        let handled = EventRecorder<Call>()
        let failure = Watched<URLError?>(nil)
        let session = URLSession { _ in }
        session.dataTask(with: server.url("/path", host: host)) { data, response, error in
            failure.withValue { $0 = error as? URLError }
            handled.handler(data, response, error)
        }.resume()
        try await handled.waitFor(count: 1)
        await session.flush()
        #expect(handled.events == [.handled(nil, nil, code)])
        #expect(failure.current?.failingURL == server.url("/path", host: host))
        #expect((failure.current?.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == "URLLoadingTLSErrorDomain")
        session.invalidateAndCancel()
        #expect(server.requests.isEmpty)
        #expect(server.connectionCount == 2)
    }

    // TLS-5
    @Test("a server that wants a certificate", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func aServerThatWantsACertificate(version: TLSServerOptions.Version) async throws {
        let options = try TrustedAuthority.server().with {
            $0.minimumVersion = version
            $0.maximumVersion = version
            $0.clientCertificate = .required(trusting: [try TrustedAuthority.authority.root])
        }
        let server = try ScriptedServer.answering(tls: options) { _ in .text("never") }
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(server.url(host: "localhost"))
                == [.failed(.clientCertificateRequired), .invalid])
        #expect(server.requests.isEmpty)
    }

    // C-19: the session's own limits, with or against those of the server
    @Test(
        "a server within and beyond what the session allows",
        arguments: [
            (tls_protocol_version_t.TLSv13, tls_protocol_version_t.TLSv13, TLSServerOptions.Version.tls12, false),
            (.TLSv12, .TLSv12, .tls13, false), (.TLSv12, .TLSv12, .tls12, true), (.TLSv12, .TLSv13, .tls13, true),
            (.TLSv12, .TLSv13, .tls11, false), (.TLSv11, .TLSv13, .tls11, true), (.TLSv10, .TLSv10, .tls10, true),
            (.TLSv10, .TLSv10, .tls11, false), (.TLSv13, .TLSv12, .tls12, false), (.TLSv13, .TLSv12, .tls13, false),
        ])
    func tlsVersionsWithinAndOutsideTheSessionsLimits(
        minimum: tls_protocol_version_t, maximum: tls_protocol_version_t, version: TLSServerOptions.Version,
        isAllowed: Bool
    ) async throws {
        let options = try TrustedAuthority.server().with {
            $0.minimumVersion = version
            $0.maximumVersion = version
        }
        let server = try ScriptedServer.answering(tls: options) { _ in .text("ok") }
        defer { server.stop() }
        let recorded = try await LoadRecorder.load(URLRequest(url: server.url())) {
            $0.tlsMinimumSupportedProtocolVersion = minimum
            $0.tlsMaximumSupportedProtocolVersion = maximum
        }
        #expect(
            recorded == (isAllowed ? [.response(200), .data("ok"), .succeeded] : [.failed(.secureConnectionFailed)])
                + [.invalid])
        #expect(server.requests.count == (isAllowed ? 1 : 0))
    }

    // C-19: the older names set the same limits
    @Test("limits by their older names") func limitsByTheirOlderNames() async throws {
        let options = try TrustedAuthority.server().with { $0.maximumVersion = .tls12 }
        let server = try ScriptedServer.answering(tls: options) { _ in .text("never") }
        defer { server.stop() }
        let recorded = try await LoadRecorder.load(URLRequest(url: server.url())) {
            $0.tlsMinimumSupportedProtocol = .tlsProtocol13
            #expect($0.tlsMinimumSupportedProtocolVersion == .TLSv13)
        }
        #expect(recorded == [.failed(.secureConnectionFailed), .invalid])
    }

    // MARK: Handshakes that are none

    /// Reactions of servers without TLS to a ClientHello.
    private func callbacks(_ script: @escaping ScriptedServer.Script) async throws -> [RecordedEvent] {
        let server = try ScriptedServer(script: script)
        defer { server.stop() }
        let url = try #require(URL(string: "https://localhost:\(server.port)/"))
        let recorded = try await LoadRecorder.load(URLRequest(url: url, timeoutInterval: 5))
        #expect(server.connectionCount == 1)
        return recorded
    }

    // TLS-5
    @Test(
        "a server that answers with something else",
        arguments: [
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "\0\0\0\0\0\0\0\0\0\0",
            "\u{16}\u{3}\u{3}\0\u{5}hello",
            "\u{15}\u{3}\u{3}\0\u{2}\u{2}\u{28}", "\u{17}\u{3}\u{3}\0\u{5}hello",
        ])
    func aServerThatAnswersWithSomethingElse(answer: String) async throws {
        let recorded = try await callbacks { connection in
            _ = try connection.receive()
            try connection.send(answer)
            try connection.waitForClose()
        }
        #expect(recorded == [.failed(.secureConnectionFailed), .invalid])
    }

    /// Messages of a TLS 1.2 handshake, as one record.
    private static func handshake(_ messages: [[UInt8]]) -> [UInt8] {
        let bytes = messages.flatMap { $0 }
        return [0x16, 3, 3, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
    }

    private static func serverHello(cipher: UInt16) -> [UInt8] {
        [2, 0, 0, 38, 3, 3] + [UInt8](repeating: 7, count: 32) + [0, UInt8(cipher >> 8), UInt8(cipher & 255), 0]
    }

    private static let helloDone: [UInt8] = [14, 0, 0, 0]

    // TLS-4, TLS-5: a server without certificate is rejected
    @Test(
        "a server that leaves its certificate out",
        arguments: [
            // DH_anon_WITH_AES_128_GCM_SHA256, which was not offered
            handshake([serverHello(cipher: 0x00A6), helloDone]),
            // ECDHE_RSA_WITH_AES_128_GCM_SHA256, which demands one
            handshake([serverHello(cipher: 0xC02F), helloDone]),
            handshake([serverHello(cipher: 0xC02F), [11, 0, 0, 3, 0, 0, 0], helloDone]),
            handshake([serverHello(cipher: 0xC02F), [11, 0, 0, 6, 0, 0, 3, 0, 0, 0], helloDone]),
        ])
    func aServerThatLeavesItsCertificateOut(answer: [UInt8]) async throws {
        let recorded = try await callbacks { connection in
            _ = try connection.receive()
            try connection.send(answer)
            try connection.waitForClose()
        }
        #expect(recorded == [.failed(.secureConnectionFailed), .invalid])
    }

    // ERR-5
    @Test("a server that hangs up in the handshake") func aServerThatHangsUpInTheHandshake() async throws {
        let closed = try await callbacks { connection in
            _ = try connection.receive()
            connection.close()
        }
        #expect(closed == [.failed(.networkConnectionLost), .invalid])
        let reset = try await callbacks { connection in
            _ = try connection.receive()
            connection.reset()
        }
        #expect(reset == [.failed(.networkConnectionLost), .invalid])
    }

    // CONN-15
    @Test("a server that is silent in the handshake") func aServerThatIsSilentInTheHandshake() async throws {
        let server = try ScriptedServer(steps: [.stopReading])
        defer { server.stop() }
        let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
        #expect(
            try await LoadRecorder.load(URLRequest(url: url, timeoutInterval: 0.3)) == [.failed(.timedOut), .invalid])
    }

    // CONN-28, ERR-7: plain text to a server of TLS
    @Test("a load without TLS from a server with it") func aLoadWithoutTLSFromAServerWithIt() async throws {
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { _ in .text("never") }
        defer { server.stop() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let recorded = try await LoadRecorder.load(url)
        #expect(recorded.count == 2)
        #expect(recorded != [.succeeded, .invalid])
        #expect(server.requests.isEmpty)
    }

    // MARK: Ends that are none

    // CONN-27: without close_notify a body that ends with its connection may be truncated
    @Test(
        "an end without close_notify",
        arguments: [
            (
                "HTTP/1.1 200 OK\r\n\r\nhello",
                [RecordedEvent.response(200), .data("hello"), .failed(.networkConnectionLost), .invalid]
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
                [.response(200), .data("hello"), .failed(.networkConnectionLost), .invalid]
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                [.response(200), .data("hello"), .succeeded, .invalid]
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                [.response(200), .data("hello"), .succeeded, .invalid]
            ),
            ("", [.failed(.networkConnectionLost), .invalid]),
        ])
    func anEndWithoutCloseNotify(response: String, recorded: [RecordedEvent]) async throws {
        let server = try ScriptedServer(
            tls: try TrustedAuthority.server(), steps: [.expectRequest, .send(response), .closeAbruptly])
        defer { server.stop() }
        #expect(try await LoadRecorder.load(server.url()) == recorded)
    }

    // CONN-27
    @Test("an end with close_notify") func anEndWithCloseNotify() async throws {
        let server = try ScriptedServer(
            tls: try TrustedAuthority.server(), steps: [.expectRequest, .send("HTTP/1.1 200 OK\r\n\r\nhello"), .close])
        defer { server.stop() }
        #expect(try await LoadRecorder.load(server.url()) == [.response(200), .data("hello"), .succeeded, .invalid])
    }

    // ERR-5
    @Test("a reset in a body") func aResetInABody() async throws {
        let server = try ScriptedServer(
            tls: try TrustedAuthority.server(),
            steps: [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .reset])
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(server.url())
                == [.response(200), .data("hello"), .failed(.networkConnectionLost), .invalid])
    }

    // TLS-5: injected bytes
    @Test("forged bytes in a body", arguments: ["garbage that is no record at all", "\u{17}\u{3}\u{3}\0\u{5}hello"])
    func forgedBytesInABody(forged: String) async throws {
        let server = try ScriptedServer(tls: try TrustedAuthority.server()) { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            try connection.sendBelowTLS(Array(forged.utf8))
            try connection.waitForClose()
        }
        defer { server.stop() }
        #expect(
            try await LoadRecorder.load(server.url())
                == [.response(200), .data("hello"), .failed(.secureConnectionFailed), .invalid])
    }

    // CONN-27: the refusal counts over TLS too
    @Test("a refusal in the middle of a body", arguments: 0..<5)
    func aRefusalInTheMiddleOfABody(run: Int) async throws {
        let server = try ScriptedServer(tls: try TrustedAuthority.server()) { connection in
            _ = try connection.readRequestHead()
            try connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
            connection.reset()
        }
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with {
            $0.httpMethod = "POST"
            $0.httpBody = Data(count: 8 << 20)
        }
        #expect(try await LoadRecorder.load(request) == [.response(413), .data("no"), .succeeded, .invalid])
    }
}
