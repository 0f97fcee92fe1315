import Foundation
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// App Transport Security settings of configurations.
@Suite(.leavesNothing) struct AppTransportSecurityTests {
    /// A server, and the result of a session with these settings.
    struct Row: @unchecked Sendable, CustomTestStringConvertible {
        // Sendable: constants only.
        let testDescription: String
        /// Nil if the load succeeds.
        let code: URLError.Code?
        let host: String
        /// Nil for a cleartext server.
        let tls: (@Sendable () throws -> TLSServerOptions)?
        let settings: [String: Any]?
        var minimumVersion = tls_protocol_version_t.TLSv12
    }

    private static let cleartext = URLError.Code.appTransportSecurityRequiresSecureConnection

    private static func clear(
        _ name: String, _ code: URLError.Code?, host: String = "localhost", _ settings: [String: Any]?
    ) -> Row { Row(testDescription: name, code: code, host: host, tls: nil, settings: settings) }

    private static func secure(
        _ name: String, _ code: URLError.Code?, host: String = "localhost", _ settings: [String: Any],
        _ options: @escaping @Sendable () throws -> TLSServerOptions = { try TrustedAuthority.server() }
    ) -> Row { Row(testDescription: name, code: code, host: host, tls: options, settings: settings) }

    private static func exception(for domain: String = "localhost", _ keys: [String: Any]) -> [String: Any] {
        ["NSExceptionDomains": [domain: keys]]
    }

    private static var insecure: [String: Any] { ["NSExceptionAllowsInsecureHTTPLoads": true] }

    private static func oldSuite() throws -> TLSServerOptions {
        try TrustedAuthority.server(.localhost.with { $0.key = .rsa(bits: 2048) }).with {
            $0.maximumVersion = .tls12
            $0.ciphers = "AES128-GCM-SHA256"
        }
    }

    private static func version(_ version: TLSServerOptions.Version) -> @Sendable () throws -> TLSServerOptions {
        {
            try TrustedAuthority.server().with {
                $0.minimumVersion = version
                $0.maximumVersion = version
            }
        }
    }

    private static let loads = [
        clear("nothing is said", nil, nil),
        clear("http", cleartext, [:]),
        clear("http to an address", cleartext, host: "127.0.0.1", [:]),
        clear("an exception", nil, exception(insecure)),
        clear("an exception for an address", nil, host: "127.0.0.1", exception(for: "127.0.0.0/8", insecure)),
        clear("another's exception", cleartext, exception(for: "other.localhost", insecure)),
        clear("an exception that does not allow it", cleartext, exception(["NSExceptionMinimumTLSVersion": "TLSv1.2"])),
        clear("the exception of the domain above", cleartext, host: "a.localhost", exception(insecure)),
        clear(
            "the exception of the domain above for those below it", nil, host: "a.localhost",
            exception(insecure.merging(["NSIncludesSubdomains": true]) { $1 })),
        clear(
            "an exception for those below, two labels down", cleartext, host: "a.b.localhost",
            exception(insecure.merging(["NSIncludesSubdomains": true]) { $1 })),
        clear("arbitrary loads", nil, ["NSAllowsArbitraryLoads": true]),
        clear(
            "arbitrary loads, but not there", cleartext, exception([:]).merging(["NSAllowsArbitraryLoads": true]) { $1 }
        ),
        clear(
            "arbitrary loads, and a key that says it better", cleartext,
            ["NSAllowsArbitraryLoads": true, "NSAllowsLocalNetworking": false]),
        clear("local networking, a name", nil, ["NSAllowsLocalNetworking": true]),
        clear("local networking, an address", nil, host: "127.0.0.1", ["NSAllowsLocalNetworking": true]),
        clear("local networking, not there", cleartext, host: "a.localhost", ["NSAllowsLocalNetworking": true]),
        secure("https", nil, [:]),
        secure("https by TLS 1.2", nil, [:], version(.tls12)),
        secure("no forward secrecy", .secureConnectionFailed, [:], oldSuite),
        secure(
            "no forward secrecy, and none wanted", nil, exception(["NSExceptionRequiresForwardSecrecy": false]),
            oldSuite),
        secure("no forward secrecy, and arbitrary loads", nil, ["NSAllowsArbitraryLoads": true], oldSuite),
        secure("a server that would rather have none, but can", nil, [:]) {
            try TrustedAuthority.server(.localhost.with { $0.key = .rsa(bits: 2048) }).with {
                $0.maximumVersion = .tls12
                $0.ciphers = "AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"
            }
        },
        secure(
            "TLS 1.2 where 1.3 is wanted", .secureConnectionFailed,
            exception(["NSExceptionMinimumTLSVersion": "TLSv1.3"]),
            version(.tls12)),
        secure(
            "TLS 1.3 where it is wanted", nil, exception(["NSExceptionMinimumTLSVersion": "TLSv1.3"]), version(.tls13)),
        secure(
            "TLS 1.0 that the configuration does not allow", .secureConnectionFailed,
            exception(["NSExceptionMinimumTLSVersion": "TLSv1.0"]), version(.tls10)),
        Row(
            testDescription: "TLS 1.0 that both allow", code: nil, host: "localhost", tls: version(.tls10),
            settings: exception(["NSExceptionMinimumTLSVersion": "TLSv1.0"]), minimumVersion: .TLSv10),
        Row(
            testDescription: "TLS 1.0 that only the configuration allows", code: .secureConnectionFailed,
            host: "localhost", tls: version(.tls10), settings: [:], minimumVersion: .TLSv10),
        secure("an untrusted server", .serverCertificateHasUnknownRoot, [:]) {
            try TLSServerOptions(authority: TestCertificateAuthority())
        },
        secure("an untrusted server, and an exception", .serverCertificateHasUnknownRoot, exception(insecure)) {
            try TLSServerOptions(authority: TestCertificateAuthority())
        },
    ]

    private func outcome(
        _ url: URL, _ settings: [String: Any]?, delegate: (any URLSessionTaskDelegate)? = nil,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> URLError? {
        let session = URLSession {
            $0.appTransportSecurity = settings
            configure($0)
        }
        defer { session.invalidateAndCancel() }
        do {
            _ = try await session.data(for: URLRequest(url: url), delegate: delegate)
            return nil
        } catch let error as URLError {
            return error
        }
    }

    // S-11, TLS-1, TLS-2, TLS-3, ERR-10: settings without a word demand HTTPS; without settings there is nothing to
    // demand it
    @Test("a load under such settings", arguments: loads) func aLoadUnderSuchSettings(row: Row) async throws {
        _ = try TrustedAuthority.authority
        let server = try ScriptedServer.answering(tls: row.tls.map { try $0() }) { _ in .text("ok") }
        defer { server.stop() }
        let url = server.url(host: row.host)
        let error = try await outcome(url, row.settings) {
            $0.tlsMinimumSupportedProtocolVersion = row.minimumVersion
        }
        #expect(error?.code == row.code)
        #expect(error == nil || error?.failingURL == url)
        #expect(server.requests.count == (row.code == nil ? 1 : 0))
        // What may not be loaded at all is not even connected to.
        if row.code == Self.cleartext { #expect(server.connectionCount == 0) }
    }

    // S-11, TLS-1: every kind of task
    @Test("uploads and downloads") func uploadsAndDownloads() async throws {
        let server = try ScriptedServer.answering(.text("ok"))
        defer { server.stop() }
        let session = URLSession { $0.appTransportSecurity = [:] }
        defer { session.invalidateAndCancel() }
        let request = URLRequest(url: server.url()).with { $0.httpMethod = "POST" }
        let upload = await #expect(throws: URLError.self) {
            _ = try await session.upload(for: request, from: Data("x".utf8))
        }
        #expect(upload?.code == Self.cleartext)
        let download = await #expect(throws: URLError.self) { _ = try await session.download(from: server.url()) }
        #expect(download?.code == Self.cleartext)
        let bytes = await #expect(throws: URLError.self) { _ = try await session.bytes(from: server.url()) }
        #expect(bytes?.code == Self.cleartext)
        #expect(server.connectionCount == 0)
    }

    // TLS-1, R-15: a redirect is no way around
    @Test("a redirect to http", arguments: [true, false]) func aRedirectToHTTP(isAsked: Bool) async throws {
        let clear = try ScriptedServer.answering(.text("never"))
        defer { clear.stop() }
        let target = clear.url("/end")
        let secure = try ScriptedServer.answering(
            .redirect(to: target.absoluteString), tls: try TrustedAuthority.server())
        defer { secure.stop() }
        let delegate = RecordingDelegate()
        let error = try await outcome(secure.url(), [:], delegate: isAsked ? delegate : nil)
        #expect(error?.code == Self.cleartext)
        #expect(error?.failingURL == target)
        #expect(clear.connectionCount == 0)
        #expect(delegate.proposed.events.map(\.url) == (isAsked ? [target] : []))
    }

    // MARK: Pins

    private static func pins(_ key: String, _ keys: [[UInt8]]) throws -> [String: Any] {
        [
            key: try keys.map { key in
                let info = try #require(Certificate(der: key)?.publicKeyInfo)
                let digest = try #require(MessageDigest.hash(.sha256, info))
                return ["SPKI-SHA256-BASE64": Data(digest).base64EncodedString()]
            }
        ]
    }

    private enum Pinned: CaseIterable { case leaf, issuer, root, other }

    // TLS-1: which pins a server meets
    @Test(
        "pinned keys",
        arguments: [
            ([.leaf], [], nil), ([.other], [], -1200), ([.other, .leaf], [], nil), ([], [.root], nil),
            ([], [.issuer], nil), ([], [.leaf], -1200), ([], [.other], -1200), ([.leaf], [.root], nil),
            ([.leaf], [.other], -1200), ([.root], [], -1200),
        ] as [([Pinned], [Pinned], Int?)])
    private func pinnedKeys(leaves: [Pinned], authorities: [Pinned], code: Int?) async throws {
        let authority = try TrustedAuthority.authority
        let otherAuthority = try TestCertificateAuthority()
        let options = try TLSServerOptions(authority: authority.intermediate()).with {
            // It comes along, but has nothing to do with it.
            $0.sentChain = $0.identity.intermediates + [otherAuthority.root]
        }
        func key(_ pinned: Pinned) -> [UInt8] {
            switch pinned {
            case .leaf: options.identity.certificate.der
            case .issuer: options.identity.intermediates[0].der
            case .root: authority.root.der
            case .other: otherAuthority.root.der
            }
        }
        var pins: [String: Any] = [:]
        if !leaves.isEmpty { pins.merge(try Self.pins("NSPinnedLeafIdentities", leaves.map(key))) { $1 } }
        if !authorities.isEmpty { pins.merge(try Self.pins("NSPinnedCAIdentities", authorities.map(key))) { $1 } }
        let server = try ScriptedServer.answering(tls: options) { _ in .text("ok").closing() }
        defer { server.stop() }
        // Pins hold whatever else is allowed.
        for more in [["NSAllowsArbitraryLoads": true], [:]] as [[String: Any]] {
            let settings = more.merging(["NSPinnedDomains": ["localhost": pins]]) { $1 }
            let session = URLSession { $0.appTransportSecurity = settings }
            defer { session.invalidateAndCancel() }
            // The second connection resumes the first one's session.
            for _ in 0..<2 {
                do {
                    _ = try await session.data(from: server.url(host: "localhost"))
                    #expect(code == nil)
                } catch let error as URLError {
                    #expect(error.code.rawValue == code)
                }
            }
            // For its domain alone.
            #expect(try await outcome(server.url(host: "127.0.0.1"), settings) == nil)
        }
        #expect(server.requests.count == (code == nil ? 6 : 2))
    }

    // MARK: Delegates

    // TLS-2, AUTH-30: a delegate may be stricter than the rules, but not laxer
    @Test("a delegate that trusts any server", arguments: [false, true]) func aDelegateThatTrustsAnyServer(
        isKnown: Bool
    ) async throws {
        _ = try TrustedAuthority.authority
        let authority = try isKnown ? TrustedAuthority.authority : TestCertificateAuthority()
        let options = try TLSServerOptions(authority: authority)
        let server = try ScriptedServer.answering(tls: options) { _ in .text("ok") }
        defer { server.stop() }
        let url = server.url(host: "localhost")
        let key = options.identity.certificate.der
        let right = try ["NSPinnedDomains": ["localhost": Self.pins("NSPinnedLeafIdentities", [key])]] as [String: Any]
        let wrong =
            try [
                "NSPinnedDomains": [
                    "localhost": Self.pins("NSPinnedLeafIdentities", [TestCertificateAuthority().root.der])
                ]
            ] as [String: Any]
        let loose: [String: Any] = ["NSAllowsArbitraryLoads": true]
        for (settings, code) in [
            (nil, nil), ([:], isKnown ? nil : -1200), (Self.exception(Self.insecure), nil), (loose, nil),
            (right.merging(loose) { $1 }, nil), (wrong.merging(loose) { $1 }, -1200),
            (right, isKnown ? nil : -1200), (right.merging(Self.exception(Self.insecure)) { $1 }, nil),
        ] as [([String: Any]?, Int?)] {
            let delegate = TaskLevelDelegate(.trusting())
            let error = try await outcome(url, settings, delegate: delegate)
            #expect(error?.code.rawValue == code, "\(settings ?? [:])")
            #expect(delegate.log.calls.events.contains("task 1 is asked: ServerTrust of localhost"))
        }
    }

    // TLS-2, TLS-5, TLS-10, AUTH-30: the delegate accepts what is wrong with the certificate, and the rules do not,
    // also where TLS 1.2 reports it after the delegate has decided
    @Test("a delegate that trusts a revoked certificate", arguments: [false, true])
    func aDelegateThatTrustsARevokedServer(isOld: Bool) async throws {
        let options = try TrustedAuthority.server().with {
            $0.ocspResponse = try TrustedAuthority.authority.ocspResponse(
                for: $0.identity.certificate, status: .revoked)
            if isOld { $0.maximumVersion = .tls12 }
        }
        let server = try ScriptedServer.answering(tls: options) { _ in .text("never") }
        defer { server.stop() }
        let error = try await outcome(
            server.url(host: "localhost"), [:], delegate: TaskLevelDelegate(.trusting()))
        #expect(error?.code == .secureConnectionFailed)
        #expect(error?.failureURLPeerTrust != nil)
        #expect(server.requests.isEmpty)
    }

    // TLS-5: also where the connection is what is wrong
    @Test("an error of the rules has the certificate chain") func refusalsShowTheChain() async throws {
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { _ in .text("never") }
        defer { server.stop() }
        let other =
            try [
                "NSPinnedDomains": [
                    "localhost": Self.pins("NSPinnedLeafIdentities", [TestCertificateAuthority().root.der])
                ]
            ] as [String: Any]
        let error = try await outcome(server.url(host: "localhost"), other)
        #expect(error?.code == .secureConnectionFailed)
        #expect(error?.failureURLPeerTrust != nil)
    }

    // TLS-2, TLS-8: what was negotiated where nothing is asked is not gone on with where something is
    @Test("a stream task's TLS session does not stand in the way") func sessionsOfStreamTasks() async throws {
        let options = try TrustedAuthority.server(.localhost.with { $0.key = .rsa(bits: 2048) }).with {
            $0.maximumVersion = .tls12
            $0.ciphers = "AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"
        }
        let server = try ScriptedServer.answering(tls: options) { _ in .text("ok") }
        defer { server.stop() }
        let session = URLSession { $0.appTransportSecurity = [:] }
        defer { session.invalidateAndCancel() }
        let stream = session.streamTask(withHostName: "localhost", port: server.port)
        stream.startSecureConnection()
        stream.resume()
        try await stream.write(Data("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8), timeout: 10)
        _ = try await stream.readData(ofMinLength: 10, maxLength: 1000, timeout: 10)
        stream.cancel()
        // It would not do for HTTP.
        #expect(try await server.connection(0).waitForHandshake()?.cipher == "AES128-GCM-SHA256")
        let (data, _) = try await session.data(from: server.url(host: "localhost"))
        #expect(String(decoding: data, as: UTF8.self) == "ok")
        #expect(try await server.connection(1).waitForHandshake()?.cipher == "ECDHE-RSA-AES128-GCM-SHA256")
    }

    // TLS-2: and so it is the other way round
    @Test("a delegate that rejects all servers") func aDelegateThatRejectsAllServers() async throws {
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server()) { _ in .text("never") }
        defer { server.stop() }
        let delegate = TaskLevelDelegate(ChallengeLog(.rejectProtectionSpace))
        let error = try await outcome(server.url(host: "localhost"), [:], delegate: delegate)
        #expect(error?.code == .serverCertificateUntrusted)
        #expect(server.requests.isEmpty)
    }

    // MARK: What it is not about

    // TLS-1: bytes are no HTTP
    @Test("a stream task and FTP") func aStreamTaskAndFTP() async throws {
        let server = try ScriptedServer(steps: [.send("hello"), .close])
        defer { server.stop() }
        var files = FTPServer.Options()
        files.files = ["/a.txt": Array("hello".utf8)]
        let ftp = try FTPServer(files)
        defer { ftp.stop() }
        let session = URLSession { $0.appTransportSecurity = [:] }
        defer { session.invalidateAndCancel() }
        let stream = session.streamTask(withHostName: "127.0.0.1", port: server.port)
        stream.resume()
        let (data, _) = try await stream.readData(ofMinLength: 5, maxLength: 5, timeout: 10)
        #expect(data.map { String(decoding: $0, as: UTF8.self) } == "hello")
        stream.cancel()
        let url = try #require(URL(string: "ftp://127.0.0.1:\(ftp.port)/a.txt"))
        #expect(String(decoding: try await session.data(from: url).0, as: UTF8.self) == "hello")
    }

    // MARK: Where settings come from

    // TLS-3
    @Test("settings from JSON and from a property list") func settingsFromJSONAndFromAPropertyList() async throws {
        let server = try ScriptedServer.answering(.text("ok"))
        defer { server.stop() }
        for isAllowed in [true, false] {
            let text = #"{"NSExceptionDomains": {"localhost": {"NSExceptionAllowsInsecureHTTPLoads": \#(isAllowed)}}}"#
            let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            let list = try PropertyListSerialization.data(fromPropertyList: json, format: .xml, options: 0)
            let read = try PropertyListSerialization.propertyList(from: list, format: nil) as? [String: Any]
            for settings in [json, try #require(read)] {
                let error = try await outcome(server.url(host: "localhost"), settings)
                #expect(error?.code == (isAllowed ? nil : Self.cleartext))
            }
        }
    }

    // C-34
    @Test("a copy of a configuration has its settings") func aCopyOfAConfigurationHasItsSettings() throws {
        let configuration = URLSessionConfiguration.ephemeral
        #expect(configuration.appTransportSecurity == nil)
        configuration.appTransportSecurity = ["NSAllowsLocalNetworking": true]
        let copy = try #require(configuration.copy() as? URLSessionConfiguration)
        #expect(copy.appTransportSecurity?["NSAllowsLocalNetworking"] as? Bool == true)
        copy.appTransportSecurity = nil
        #expect(configuration.appTransportSecurity != nil)
    }
}
