import Foundation
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// Servers that check to which TLS connection an authentication is bound, as Windows servers do with Extended
/// Protection for Authentication.
extension KerberosTests {
    /// The channel bindings of the certificate that a server has. Its signature hashes with SHA-256.
    private static func bindings(_ tls: TLSServerOptions) throws -> [UInt8] {
        let hash = try #require(MessageDigest.hash(.sha256, tls.identity.certificate.der))
        return Array("tls-server-end-point:".utf8) + hash
    }

    /// Answers a request as an acceptor does, and records it under the connection's number: `asks`, `goes on`, `bound`,
    /// `unbound`, or `refused`.
    private struct Guardian: Sendable {
        let scheme: GSSAcceptor.Scheme
        let realm: KerberosRealm
        /// Nil to accept any.
        let bindings: [UInt8]?
        var isProxy = false
        let recorded = EventRecorder<String>()

        private var challengeField: String { isProxy ? "Proxy-Authenticate" : "WWW-Authenticate" }
        private var credentialField: String { isProxy ? "Proxy-Authorization" : "Authorization" }

        func answer(
            _ request: ReceivedRequest, on connection: Int, acceptor: inout GSSAcceptor?
        ) throws -> CannedResponse {
            func response(_ event: String, isIn: Bool = false, _ token: [UInt8] = []) -> CannedResponse {
                recorded.record("\(connection) \(event)")
                let text = token.isEmpty ? "" : " " + Data(token).base64EncodedString()
                return CannedResponse.text(isIn ? "in" : "who?", status: isIn ? 200 : isProxy ? 407 : 401)
                    .with(field: challengeField, scheme.rawValue + text)
            }
            guard let token = GSSAcceptor.token(scheme, in: request[credentialField]) else { return response("asks") }
            let current = try acceptor ?? GSSAcceptor(scheme, of: realm, bindings: bindings)
            acceptor = current
            switch current.accept(token) {
            case .continues(let token): return response("goes on", token)
            case .accepted(let token, let isBound):
                acceptor = nil
                return response(isBound ? "bound" : "unbound", isIn: true, token)
            case .refused:
                acceptor = nil
                return response("refused")
            }
        }
    }

    private func server(_ guardian: Guardian, _ tls: TLSServerOptions) throws -> ScriptedServer {
        try ScriptedServer(tls: tls) { connection in
            var acceptor: GSSAcceptor?
            do {
                while let request = try connection.nextRequest() {
                    let response = try guardian.answer(request, on: connection.index, acceptor: &acceptor)
                    try connection.send(response, to: request)
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
    }

    private func url(_ server: ScriptedServer) -> URL { server.url("/", host: "localhost") }

    // AUTH-37
    @Test("Negotiate is bound to the server's certificate", arguments: [true, false])
    func negotiateIsBoundToTheServersCertificate(isTheSame: Bool) async throws {
        let realm = try KerberosRealm.shared()
        let tls = try TrustedAuthority.server()
        let other = try TrustedAuthority.server()
        let guardian = Guardian(scheme: .negotiate, realm: realm, bindings: try Self.bindings(isTheSame ? tls : other))
        let server = try server(guardian, tls)
        defer { server.stop() }
        try realm.getTicket()
        defer { realm.removeTicket() }
        let session = session(Delegate())
        #expect(try await status(session, url(server)) == (isTheSame ? 200 : 401))
        // The connection is the user's.
        if isTheSame { #expect(try await status(session, url(server), body: "abc") == 200) }
        session.invalidateAndCancel()
        let events = isTheSame ? ["0 asks", "1 bound", "1 asks", "1 bound"] : ["0 asks", "1 refused"]
        #expect(guardian.recorded.events == events)
    }

    // AUTH-37
    @Test("a server may ignore what Negotiate is bound to") func aServerMayIgnoreWhatNegotiateIsBoundTo() async throws {
        let realm = try KerberosRealm.shared()
        let guardian = Guardian(scheme: .negotiate, realm: realm, bindings: nil)
        let server = try server(guardian, try TrustedAuthority.server())
        defer { server.stop() }
        try realm.getTicket()
        defer { realm.removeTicket() }
        let session = session(Delegate())
        #expect(try await status(session, url(server)) == 200)
        session.invalidateAndCancel()
        #expect(guardian.recorded.events == ["0 asks", "1 unbound"])
    }

    // AUTH-37: RFC 5929 §4.1 defines no hash for the signatures of Ed25519
    @Test("a certificate without a hash binds nothing") func aCertificateWithoutAHashBindsNothing() async throws {
        let realm = try KerberosRealm.shared()
        let authority = try TestCertificateAuthority(.authority("Edwards").with { $0.key = .edwards })
        let tls = try TLSServerOptions(authority: authority)
        let guardian = Guardian(scheme: .negotiate, realm: realm, bindings: try Self.bindings(tls))
        let server = try server(guardian, tls)
        defer { server.stop() }
        try realm.getTicket()
        defer { realm.removeTicket() }
        let delegate = Delegate()
        delegate.answer = { challenge in
            (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
        let session = session(delegate)
        #expect(try await status(session, url(server)) == 200)
        session.invalidateAndCancel()
        #expect(guardian.recorded.events == ["0 asks", "1 unbound"])
    }

    /// The status of a load with a ticket. Its first connection reaches the first port, and each other one the second.
    private func status(_ realm: KerberosRealm, through ports: [Int]) async throws -> Int? {
        let front = try ScriptedServer { connection in
            try connection.relay(to: ports[min(connection.index, 1)])
        }
        defer { front.stop() }
        try realm.getTicket()
        defer { realm.removeTicket() }
        let session = session(Delegate())
        let url = try #require(URL(string: "https://localhost:\(front.port)/"))
        defer { session.invalidateAndCancel() }
        return try await status(session, url)
    }

    // AUTH-37: the machines behind one name may have certificates of their own
    @Test("the connection of the credentials may have another certificate")
    func theConnectionOfTheCredentialsMayHaveAnotherCertificate() async throws {
        let realm = try KerberosRealm.shared()
        let options = [try TrustedAuthority.server(), try TrustedAuthority.server()]
        let guardians = try options.map {
            Guardian(scheme: .negotiate, realm: realm, bindings: try Self.bindings($0))
        }
        let servers = [try server(guardians[0], options[0]), try server(guardians[1], options[1])]
        defer { for server in servers { server.stop() } }
        #expect(try await status(realm, through: servers.map(\.port)) == 200)
        #expect(guardians.map(\.recorded.events) == [["0 asks"], ["0 asks", "0 bound"]])
    }

    // AUTH-37, AUTH-19: what HTTP/2 was asked is answered over HTTP/1.1, here with another certificate
    @Test("a challenge over HTTP/2 is answered on a bound connection")
    func aChallengeOverHTTP2IsAnsweredOnABoundConnection() async throws {
        let realm = try KerberosRealm.shared()
        let shared = try ApacheServer(
            files: ["page": []], authority: TrustedAuthority.authority, offersHTTP2: true,
            modules: ["headers", "rewrite"],
            directives: """
                RewriteEngine on
                RewriteRule .* - [R=401,L]
                Header always set WWW-Authenticate Negotiate
                """)
        defer { shared.stop() }
        let tls = try TrustedAuthority.server()
        let guardian = Guardian(scheme: .negotiate, realm: realm, bindings: try Self.bindings(tls))
        let server = try server(guardian, tls)
        defer { server.stop() }
        #expect(try await status(realm, through: [shared.port, server.port]) == 200)
        shared.stop()
        #expect(shared.log == ["1 GET / HTTP/2.0 401 -"])
        #expect(guardian.recorded.events == ["0 asks", "0 bound"])
    }

    // AUTH-37: MsvAvChannelBindings, which gss-ntlmssp makes
    @Test("NTLM is bound to the server's certificate", arguments: [true, false])
    func ntlmIsBoundToTheServersCertificate(isTheSame: Bool) async throws {
        let realm = try KerberosRealm.shared()
        let users = try ApacheServer(realm: realm)
        defer { users.stop() }
        setenv("NTLM_USER_FILE", users.ntlmUsers.path, 1)
        defer { unsetenv("NTLM_USER_FILE") }
        let tls = try TrustedAuthority.server()
        let other = try TrustedAuthority.server()
        let guardian = Guardian(scheme: .ntlm, realm: realm, bindings: try Self.bindings(isTheSame ? tls : other))
        let server = try server(guardian, tls)
        defer { server.stop() }
        let delegate = delegateOfNTLM()
        let right = delegate.answer
        delegate.answer = { challenge in
            let isTrust = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust
            return isTrust || challenge.previousFailureCount > 0 ? (.performDefaultHandling, nil) : right(challenge)
        }
        let session = session(delegate)
        #expect(try await status(session, url(server)) == (isTheSame ? 200 : 401))
        session.invalidateAndCancel()
        #expect(guardian.recorded.events == ["0 asks", "1 goes on", isTheSame ? "1 bound" : "1 refused"])
    }

    // AUTH-37, AUTH-28: each is bound to the certificate of its own peer
    @Test("a proxy and a server in its tunnel have bindings of their own")
    func aProxyAndAServerInItsTunnelHaveBindingsOfTheirOwn() async throws {
        let realm = try KerberosRealm.shared()
        let (tlsOfServer, tlsOfProxy) = (try TrustedAuthority.server(), try TrustedAuthority.server())
        let guardian = Guardian(scheme: .negotiate, realm: realm, bindings: try Self.bindings(tlsOfServer))
        let server = try server(guardian, tlsOfServer)
        defer { server.stop() }
        let guardianOfProxy = Guardian(
            scheme: .negotiate, realm: realm, bindings: try Self.bindings(tlsOfProxy), isProxy: true)
        let port = server.port
        let proxy = try ScriptedServer(tls: tlsOfProxy) { connection in
            var acceptor: GSSAcceptor?
            do {
                while let request = try connection.nextRequest() {
                    let response = try guardianOfProxy.answer(request, on: connection.index, acceptor: &acceptor)
                    guard response.status == 200 else {
                        try connection.send(response, to: request)
                        continue
                    }
                    try connection.send("HTTP/1.1 200 OK\r\n\r\n")
                    return try connection.relay(to: port)
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
        defer { proxy.stop() }
        try realm.getTicket()
        defer { realm.removeTicket() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        var settings = ProxyConfiguration(
            httpCONNECTProxy: .hostPort(host: "localhost", port: try #require(NWEndpoint.Port("\(proxy.port)"))),
            tlsOptions: NWProtocolTLS.Options())
        settings.matchDomains = ["localhost"]
        configuration.proxyConfigurations = [settings]
        let session = URLSession(configuration: configuration)
        #expect(try await status(session, url(server)) == 200)
        session.invalidateAndCancel()
        #expect(guardian.recorded.events == ["0 asks", "1 bound"])
        #expect(guardianOfProxy.recorded.events == ["0 asks", "0 bound", "1 asks", "1 bound"])
    }

    // AUTH-37, AUTH-28: TLS ends at a proxy that loads the request itself
    @Test("a proxy that loads the request has a binding of its own")
    func aProxyThatLoadsTheRequestHasABindingOfItsOwn() async throws {
        let realm = try KerberosRealm.shared()
        let tls = try TrustedAuthority.server()
        let guardian = Guardian(scheme: .negotiate, realm: realm, bindings: try Self.bindings(tls), isProxy: true)
        let proxy = try server(guardian, tls)
        defer { proxy.stop() }
        try realm.getTicket()
        defer { realm.removeTicket() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.proxyVariables = ["http_proxy": "https://localhost:\(proxy.port)"]
        let session = URLSession(configuration: configuration)
        let url = try #require(URL(string: "http://elsewhere.example/"))
        #expect(try await status(session, url) == 200)
        session.invalidateAndCancel()
        #expect(guardian.recorded.events == ["0 asks", "1 bound"])
    }
}
