import Foundation
import TestSupport
import Testing
import URLLoading

/// Servers and proxies that reject every credential. The last challenge becomes the response.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct RepeatedChallengeTests {
    /// The number of consecutive answers after which the challenge becomes the response.
    private static let most = 64

    private func basic(_ realm: String, status: Int = 401) -> CannedResponse {
        CannedResponse.text("who are you?", status: status)
            .with(field: status == 401 ? "WWW-Authenticate" : "Proxy-Authenticate", "Basic realm=\"\(realm)\"")
    }

    private func status(_ session: URLSession, _ url: URL) async throws -> Int? {
        let (_, response) = try await session.data(from: url)
        return (response as? HTTPURLResponse)?.statusCode
    }

    /// A session whose delegate always has another password, and the recorded failure counts.
    private func session(
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> (session: URLSession, failures: EventRecorder<Int>) {
        let failures = EventRecorder<Int>()
        let delegate = RecordingDelegate()
        delegate.challenge = { challenge, handler in
            failures.record(challenge.previousFailureCount)
            handler(.useCredential, URLCredential("Mufasa", "\(failures.count)"))
        }
        return (URLSession(delegate, configure), failures)
    }

    enum Realms: CaseIterable {
        case same
        case always
        case alternating

        func name(_ number: Int) -> String {
            switch self {
            case .same: "r"
            case .always: "r\(number)"
            case .alternating: "r\(number % 2)"
            }
        }
    }

    // AUTH-9: whatever the server calls its spaces
    @Test("a delegate that always answers", arguments: Realms.allCases) func delegate(realms: Realms) async throws {
        let count = Watched(0)
        let server = try ScriptedServer.answering { _ in
            basic(
                realms.name(
                    count.withValue {
                        $0 += 1; return $0
                    }))
        }
        defer { server.stop() }
        let (session, failures) = session()
        defer { session.invalidateAndCancel() }
        #expect(try await status(session, server.url()) == 401)
        #expect(server.requests.count == Self.most + 1)
        // AUTH-9: those of the same space. Each answer refuses the credential before it, whichever space it names.
        let expected: [Int] =
            switch realms {
            case .same: Array(0..<Self.most)
            case .always: [Int](repeating: 0, count: Self.most)
            case .alternating: (0..<Self.most).map { $0 / 2 }
            }
        #expect(failures.events == expected)
    }

    // AUTH-7, AUTH-11: credentials of a URL are used once, whatever the realms
    @Test("the user of an address", arguments: Realms.allCases, [false, true])
    func address(realms: Realms, isRedirected: Bool) async throws {
        let count = Watched(0)
        let server = try ScriptedServer.answering { request in
            if request.path == "/from" {
                let port = request["Host"] ?? ""
                return CannedResponse(302).with(field: "Location", "http://a:b@\(port)/")
            }
            return basic(
                realms.name(
                    count.withValue {
                        $0 += 1; return $0
                    }))
        }
        defer { server.stop() }
        let session = URLSession()
        defer { session.invalidateAndCancel() }
        let start = try #require(
            URL(string: isRedirected ? "http://127.0.0.1:\(server.port)/from" : "http://a:b@127.0.0.1:\(server.port)/"))
        #expect(try await status(session, start) == 401)
        #expect(server.requests.filter { $0.path == "/" }.count == 2)
    }

    // AUTH-7: another realm of the server challenges again
    @Test("the user of an address, behind a redirect", arguments: [false, true])
    func addressBehindRedirect(hasStorage: Bool) async throws {
        let basicAuth = BasicAuthResponder()
        let server = try ScriptedServer.answering { request in
            let answer = basicAuth.answer(request)
            return request.path == "/dir" && answer.status == 200 ? .redirect(to: "/other/dir", status: 301) : answer
        }
        defer { server.stop() }
        let session = URLSession { if !hasStorage { $0.urlCredentialStorage = nil } }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://Mufasa:Circle%20of%20Life@127.0.0.1:\(server.port)/dir"))
        #expect(try await status(session, url) == 200)
    }

    // AUTH-7, AUTH-16: a scheme by which nothing could be said leaves the next
    @Test("the user of an address, by the next scheme") func addressByNextScheme() async throws {
        let server = try ScriptedServer.answering { request in
            var ntlmAuth = NTLMAuthResponder()
            ntlmAuth.fields = [("WWW-Authenticate", "Negotiate")]
            return ntlmAuth.answer(request)
        }
        defer { server.stop() }
        let session = URLSession { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://DOMAIN%5CMufasa:x@127.0.0.1:\(server.port)/"))
        #expect(try await status(session, url) == 200)
    }

    // AUTH-18: a nonce that is always too old
    @Test("a nonce that is never good") func stale() async throws {
        var rules = DigestAuthResponder.Rules()
        rules.uses = 0
        let digestAuth = DigestAuthResponder(rules)
        let server = try ScriptedServer.answering { digestAuth.answer($0) }
        defer { server.stop() }
        let (session, _) = session()
        defer { session.invalidateAndCancel() }
        #expect(try await status(session, server.url()) == 401)
        #expect(server.requests.count == Self.most + 1)
    }

    // AUTH-9, R-7: a redirect is no success
    @Test("questions that alternate with redirects") func redirects() async throws {
        let count = Watched(0)
        let server = try ScriptedServer.answering { request in
            let number = count.withValue {
                $0 += 1; return $0
            }
            // Four questions, then on.
            guard number % 5 == 0 else { return basic("r\(number)") }
            return CannedResponse(302).with(field: "Location", "/\(number)")
        }
        defer { server.stop() }
        let (session, failures) = session()
        defer { session.invalidateAndCancel() }
        #expect(try await status(session, server.url()) == 401)
        #expect(failures.count == Self.most)
    }

    // AUTH-28, AUTH-9
    @Test("a proxy", arguments: Realms.allCases) func proxy(realms: Realms) async throws {
        let count = Watched(0)
        let server = try ScriptedServer.answering { _ in
            basic(
                realms.name(
                    count.withValue {
                        $0 += 1; return $0
                    }), status: 407)
        }
        defer { server.stop() }
        let (session, _) = session {
            $0.connectionProxyDictionary = [
                "HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": server.port,
            ]
        }
        defer { session.invalidateAndCancel() }
        #expect(try await status(session, try #require(URL(string: "http://example.test/"))) == 407)
        #expect(server.requests.count == Self.most + 1)
    }
}
