import Foundation
import LoadingPipeline
import LoadingSemantics
import TestSupport
import Testing
import URLLoading

/// Negotiate with Kerberos, and NTLM, against Apache's mod_auth_gssapi, a real key distribution centre and gss-ntlmssp.
@Suite(.serialized, .needs(.apache2), .needs(.krb5kdc)) struct KerberosTests {
    /// Answers challenges, and records the delegate method that was called.
    final class Delegate: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
        // Sendable: the recorder guards itself, the rest is set before the delegate is used.
        let asked = EventRecorder<String>()
        var answer: @Sendable (URLAuthenticationChallenge) -> (URLSession.AuthChallengeDisposition, URLCredential?) = {
            _ in (.performDefaultHandling, nil)
        }

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            let space = challenge.protectionSpace
            let method = space.authenticationMethod.replacingOccurrences(of: "NSURLAuthenticationMethod", with: "")
            asked.record("\(method) \(space.realm ?? "-") \(challenge.previousFailureCount)")
            let answer = answer(challenge)
            completionHandler(answer.0, answer.1)
        }
    }

    func status(_ session: URLSession, _ url: URL, body: String? = nil) async throws -> Int? {
        var request = URLRequest(url: url)
        if let body {
            request.httpMethod = "POST"
            request.httpBody = Data(body.utf8)
        }
        return (try await session.data(for: request).1 as? HTTPURLResponse)?.statusCode
    }

    func session(_ delegate: Delegate, by proxy: SquidProxy? = nil) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        if let proxy {
            configuration.connectionProxyDictionary = [
                "HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": proxy.port, "ExceptionsList": ["<-loopback>"],
            ]
        }
        // Each request shall get the page, and not 304.
        configuration.urlCache = nil
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    func credential(_ user: String, _ password: String) -> URLCredential {
        URLCredential(user: user, password: password, persistence: .forSession)
    }

    // S-57, AUTH-20
    @Test("with a Kerberos ticket there is no challenge") func withAKerberosTicketThereIsNoChallenge() async throws {
        let realm = try KerberosRealm.shared()
        let server = try ApacheServer(realm: realm)
        defer { server.stop() }
        try realm.getTicket()
        defer { realm.removeTicket() }
        let delegate = Delegate()
        let session = session(delegate)
        #expect(try await status(session, server.url("/negotiate/page")) == 200)
        #expect(try await status(session, server.url("/negotiate/page"), body: "abc") == 200)
        session.invalidateAndCancel()
        server.stop()
        #expect(delegate.asked.events == [])
        let user = "ali@TEST.EXAMPLE"
        #expect(
            server.log == [
                "1 GET /negotiate/page HTTP/1.1 401 -", "2 GET /negotiate/page HTTP/1.1 200 \(user)",
                "2 POST /negotiate/page HTTP/1.1 401 -", "2 POST /negotiate/page HTTP/1.1 200 \(user)",
            ])
    }

    // S-54, AUTH-9, AUTH-20: without a ticket the delegate is asked, on the level of connections
    @Test("without a ticket a password serves") func withoutATicketAPasswordServes() async throws {
        let server = try ApacheServer(realm: KerberosRealm.shared())
        defer { server.stop() }
        let delegate = Delegate()
        let (wrong, right) = (credential("ali", "wrong"), credential("ali", KerberosRealm.password))
        delegate.answer = { (.useCredential, $0.previousFailureCount == 0 ? wrong : right) }
        let session = session(delegate)
        #expect(try await status(session, server.url("/negotiate/page")) == 200)
        // Known from now on.
        #expect(try await status(session, server.url("/negotiate/page")) == 200)
        session.invalidateAndCancel()
        server.stop()
        #expect(delegate.asked.events == ["Negotiate - 0", "Negotiate - 1"])
        #expect(server.log.map { String($0.suffix(24)) }.filter { $0.contains("200") }.count == 2)
    }

    // T-36, AUTH-7
    @Test("without either the challenge is the result") func withoutEitherTheChallengeIsTheResult() async throws {
        let server = try ApacheServer(realm: KerberosRealm.shared())
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        #expect(try await status(session, server.url("/negotiate/page")) == 401)
        session.invalidateAndCancel()
        server.stop()
        #expect(server.log == ["1 GET /negotiate/page HTTP/1.1 401 -"])
    }

    // S-57, AUTH-20: no password is sent without a challenge
    @Test("the system's user is Kerberos's alone") func theSystemsUserIsKerberossAlone() async throws {
        let realm = try KerberosRealm.shared()
        let server = try ApacheServer(realm: realm)
        defer { server.stop() }
        setenv("NTLM_USER_FILE", server.ntlmUsers.path, 1)
        defer { unsetenv("NTLM_USER_FILE") }
        let otherSession = URLSession(configuration: .ephemeral)
        #expect(try await status(otherSession, server.url("/either/page")) == 401)
        otherSession.invalidateAndCancel()
        try realm.getTicket()
        defer { realm.removeTicket() }
        let known = URLSession(configuration: .ephemeral)
        #expect(try await status(known, server.url("/either/page")) == 200)
        known.invalidateAndCancel()
        server.stop()
        #expect(
            server.log == [
                "1 GET /either/page HTTP/1.1 401 -", "2 GET /either/page HTTP/1.1 401 -",
                "3 GET /either/page HTTP/1.1 200 ali@TEST.EXAMPLE",
            ])
    }

    /// Has only the credential for NTLM.
    func delegateOfNTLM() -> Delegate {
        let delegate = Delegate()
        let right = credential("DOMAIN\\\(ApacheServer.user)", ApacheServer.password)
        delegate.answer = { challenge in
            challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodNTLM
                ? (.useCredential, right) : (.rejectProtectionSpace, nil)
        }
        return delegate
    }

    // AUTH-5, AUTH-19, AUTH-26: all steps on one connection, which is the user's then
    @Test("NTLM proves a connection") func ntlmProvesAConnection() async throws {
        let server = try ApacheServer(realm: KerberosRealm.shared())
        defer { server.stop() }
        let delegate = delegateOfNTLM()
        let session = session(delegate)
        #expect(try await status(session, server.url("/ntlm/page"), body: "abc") == 200)
        #expect(try await status(session, server.url("/ntlm/page")) == 200)
        // Authenticated connections are not used for other requests.
        #expect(try await status(session, server.url("/ntlm/page"), body: "def") == 200)
        session.invalidateAndCancel()
        server.stop()
        #expect(delegate.asked.events == ["Negotiate - 0", "NTLM - 0"])
        // The server notes the ends of two requests on two connections in any order.
        let connections = Set(server.log.filter { $0.contains(" 200 ") }.map { $0.prefix(1) })
        #expect(connections.count == 1)
        #expect(Set(server.log.map { $0.prefix(1) }).count == 2)
        #expect(server.log.map { $0.contains(" 200 ") } == [false, false, true, true, true])
    }

    // AUTH-19: squid says of itself that it keeps connections apart (RFC 4559 §6)
    @Test("NTLM through squid", .needs(.squid)) func ntlmThroughSquid() async throws {
        let server = try ApacheServer(realm: KerberosRealm.shared())
        defer { server.stop() }
        let squid = try SquidProxy()
        defer { squid.stop() }
        let delegate = delegateOfNTLM()
        let session = session(delegate, by: squid)
        #expect(try await status(session, server.url("/ntlm/page")) == 200)
        session.invalidateAndCancel()
        squid.stop()
        #expect(delegate.asked.events == ["Negotiate - 0", "NTLM - 0"])
        #expect(
            squid.log.map { $0.split(separator: " ").first.map(String.init) ?? "" }
                == ["TCP_MISS/401", "TCP_MISS/401", "TCP_MISS/200"])
    }

    // TLS-7, AUTH-19: what was begun in the clear is not gone on with there
    @Test("a conversation ends when its host becomes known to want secure connections")
    func aConversationEndsWhenItsHostBecomesSecure() async throws {
        /// Has the host become known before the request that ends the conversation.
        final class Cookies: HTTPCookieStorage, @unchecked Sendable {
            let hosts = HSTSStore(suffixes: .topLevelDomains, preload: HSTSPreload())
            let asked = EventRecorder<String>()

            override func getCookiesFor(
                _ task: URLSessionTask, completionHandler: @escaping @Sendable ([HTTPCookie]?) -> Void
            ) {
                asked.record(task.currentRequest?.url?.scheme ?? "")
                if asked.count == 3, let url = try? HTTPURL("https://localhost/") {
                    hosts.note(HTTPFields([("Strict-Transport-Security", "max-age=1000")]), from: url, isTrusted: true)
                }
                completionHandler(nil)
            }
        }
        let server = try ApacheServer(realm: KerberosRealm.shared())
        defer { server.stop() }
        let delegate = delegateOfNTLM()
        let cookies = Cookies()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = cookies
        configuration.hsts = cookies.hosts
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        let url = server.url("/ntlm/page")
        // That port does not support TLS.
        let error = await #expect(throws: URLError.self) { _ = try await session.data(from: url) }
        #expect(error?.code == .secureConnectionFailed)
        #expect(error?.failingURL?.scheme == "https")
        session.invalidateAndCancel()
        server.stop()
        #expect(cookies.asked.events == ["http", "http", "http", "https"])
        // Numbers are in the order of the log, where the rejected handshake may come before the
        // second.
        let requests = server.log.filter { $0.contains("/ntlm/") }.map { $0.split(separator: " ", maxSplits: 1) }
        #expect(requests.map(\.last) == ["GET /ntlm/page HTTP/1.1 401 -", "GET /ntlm/page HTTP/1.1 401 -"])
        #expect(Set(requests.map(\.first)).count == 2)
    }

    // AUTH-9, AUTH-16
    @Test("NTLM with a wrong password, then the right one") func ntlmWithAWrongPasswordThenTheRightOne() async throws {
        let server = try ApacheServer(realm: KerberosRealm.shared())
        defer { server.stop() }
        let delegate = Delegate()
        let user = "DOMAIN\\\(ApacheServer.user)"
        let (wrong, right) = (credential(user, "wrong"), credential(user, ApacheServer.password))
        delegate.answer = { challenge in
            challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodNTLM
                ? (.useCredential, challenge.previousFailureCount == 0 ? wrong : right) : (.rejectProtectionSpace, nil)
        }
        let session = session(delegate)
        #expect(try await status(session, server.url("/ntlm/page")) == 200)
        session.invalidateAndCancel()
        #expect(delegate.asked.events == ["Negotiate - 0", "NTLM - 0", "NTLM - 1"])
    }

    // AUTH-19: many at once, each conversation on a connection of its own
    @Test("many conversations at once", .timeLimit(.minutes(1))) func manyConversationsAtOnce() async throws {
        let server = try ApacheServer(realm: KerberosRealm.shared())
        defer { server.stop() }
        let delegate = delegateOfNTLM()
        let session = session(delegate)
        let url = server.url("/ntlm/page")
        try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<30 {
                group.addTask { (try await session.data(from: url).1 as? HTTPURLResponse)?.statusCode }
            }
            for try await status in group { #expect(status == 200) }
        }
        session.invalidateAndCancel()
        server.stop()
        // An authenticated connection is used without another handshake.
        var proved: Set<Substring> = []
        for line in server.log where line.contains("/ntlm/page") {
            let words = line.split(separator: " ")
            let (connection, status) = (words[0], words[words.count - 2])
            if status == "200" { proved.insert(connection) }
            #expect(status == "200" || !proved.contains(connection), "\(line)")
        }
        #expect(!proved.isEmpty)
    }
}
