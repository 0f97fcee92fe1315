import Foundation
import LoadingConnections
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingPipeline

/// Answers to challenges: responses in, steps and field values out. Nothing is sent, and no step of
/// a conversation is made.
@Suite struct AuthenticationStageTests {
    private static let basic = #"Basic realm="r""#
    private static let digest = #"Digest realm="r", nonce="n", qop="auth""#

    /// A stage that works for one load, and what it knows.
    private final class Bench {
        var stage: AuthenticationStage
        let memory: AuthenticationMemory
        let stepped: SteppedLoop
        let source: ChallengeSource
        var subject: AuthenticationSubject
        /// Whether what was accepted before may be said again.
        var isAllowed = true
        /// How often the binding to the connection was computed.
        private(set) var bindingsAsked = 0
        /// What each step of a conversation was bound to.
        private(set) var bindings: [ChannelBinding?] = []

        init(
            _ source: ChallengeSource = .server, _ subject: AuthenticationSubject? = nil,
            memory: AuthenticationMemory = AuthenticationMemory()
        ) throws {
            stepped = try SteppedLoop()
            self.source = source
            self.memory = memory
            self.subject = try subject ?? AuthenticationStageTests.request()
            stage = AuthenticationStage(source, memory, stepped.loop)
        }

        private func text(_ step: AuthenticationStage.Step) -> String {
            switch step {
            case .deliver: return "deliver"
            case .accepted(let credential, let space): return "accepted \(credential.user) \(space.scheme)"
            case .sendAgain: return "send again"
            case .advance(let conversation, let token, _):
                bindings.append(conversation.channelBinding)
                return token.isEmpty ? "begin" : "advance"
            case .ask(let question):
                let failures = question.failures > 0 ? " after \(question.failures)" : ""
                let refused = question.refused.map { " not \($0.user)" } ?? ""
                let named = question.fromURL.map { " maybe \($0.user)" } ?? ""
                return "ask \(question.space.scheme) \(question.space.realm ?? "-")\(failures)\(refused)\(named)"
                    + (question.isQuiet ? " quietly" : "")
            }
        }

        /// Takes a response with these challenges, or other fields.
        func response(
            _ status: Int, _ values: String..., field: String? = nil, mayBeShared: Bool = false,
            channelBinding: ChannelBinding? = nil
        ) throws -> String {
            let name = field ?? source.challengeField
            let head = ResponseHead(
                status: status, version: .http11, fields: HTTPFields(values.map { (name, $0) }), byteCount: 0)
            let step = try stage.step(
                after: head, to: subject, mayBeShared: mayBeShared,
                channelBinding: {
                    bindingsAsked += 1
                    return channelBinding
                }())
            return text(step)
        }

        func answer(_ answer: AuthenticationAnswer) -> String { text(stage.step(after: answer, to: subject)) }

        func answer(_ user: String, _ password: String = "p", isKept: Bool = true) -> String {
            answer(.credential(LoadCredential(user: user, password: password, isKept: isKept)))
        }

        func outcome(_ outcome: GSSSecurityContext.Outcome) -> String {
            text(stage.step(after: outcome, to: subject))
        }

        /// The identity of a request's connection, which is asked for before there is one.
        func identity() -> UInt64 {
            let isAllowed = isAllowed
            stage.prepare(subject, isAllowed: { _, _ in isAllowed })
            return stage.identity
        }

        /// What a request says, without what no test can foresee.
        func says() -> String? {
            let isAllowed = isAllowed
            guard let value = stage.fieldValue(for: subject, isAllowed: { _, _ in isAllowed }) else { return nil }
            guard value.hasPrefix("Digest") else { return value }
            let kept = ["username", "nonce", "nc", "qop", "uri"]
            return "Digest "
                + value.dropFirst(7).split(separator: ", ").filter { pair in
                    kept.contains { pair.hasPrefix($0 + "=") }
                }.joined(separator: ", ")
        }
    }

    private static func load(
        _ url: String, _ fields: [(String, String)] = [], body: LoadBody = .none
    ) throws -> LoadRequest {
        LoadRequest(
            url: try HTTPURL(url), urlText: url, method: "GET", fields: HTTPFields(fields), body: body, idleTimeout: 60,
            totalTimeout: 60, waitsForConnectivity: false, priority: 0.5)
    }

    /// A memory in which an earlier load has left an accepted credential of the user "u".
    private static func memoryOfCredential() throws -> AuthenticationMemory {
        let bench = try Bench()
        _ = try bench.response(401, basic)
        _ = bench.answer("u")
        _ = try bench.response(200)
        return bench.memory
    }

    private static func request(
        _ url: String = "http://a.example/x", _ fields: [(String, String)] = [], body: LoadBody = .none
    ) throws -> AuthenticationSubject {
        .request(try load(url, fields, body: body))
    }

    private static func proxy(_ text: String) throws -> ProxyServer { try #require(ProxyServer(text)) }

    private static func token(_ user: String, _ password: String = "p") -> String {
        "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    }

    // MARK: Sources of credentials

    @Test(
        "what a response leads to that is not expected",
        arguments: [
            // AUTH-34, AUTH-15
            (401, [], "deliver"), (401, ["Unknown realm=r"], "deliver"), (401, ["Digest realm=r"], "deliver"),
            (200, [basic], "deliver"), (403, [basic], "deliver"), (407, [basic], "deliver"), (304, [], "deliver"),
            (401, [basic], "ask basic r"), (401, ["Basic"], "ask basic -"), (401, ["Unknown x", basic], "ask basic r"),
            // AUTH-16: the strongest first, whatever the order
            (401, [basic, digest], "ask digest r"), (401, ["\(basic), \(digest)"], "ask digest r"),
            (401, [digest, basic, "NTLM"], "ask ntlm -"),
            // AUTH-20: with a ticket no challenge is issued
            (401, [digest, "NTLM", "Negotiate"], "begin"),
        ] as [(Int, [String], String)])
    func first(status: Int, challenges: [String], expected: String) throws {
        let bench = try Bench()
        let value = challenges.joined(separator: ", ")
        #expect(try (challenges.isEmpty ? bench.response(status) : bench.response(status, value)) == expected)
        #expect(bench.says() == nil && bench.stage.identity == 0 && !bench.stage.isConversing)
    }

    // AUTH-15, AUTH-19: a proxy that loads requests itself may send those of others over the same connection
    @Test("where others use the connection it is not proved to be the user's") func shared() throws {
        let bench = try Bench()
        #expect(try bench.response(401, "Negotiate, NTLM", mayBeShared: true) == "deliver")
        #expect(try bench.response(401, "Negotiate, NTLM, \(Self.basic)", mayBeShared: true) == "ask basic r")
    }

    // AUTH-18: the integrity of a body that can be read once only cannot be proved
    @Test("protection of the body's integrity needs a body in memory") func integrity() throws {
        let challenge = #"Digest realm="r", nonce="n", qop="auth-int""#
        let bodies: [(LoadBody, String)] = [
            (.none, "ask digest r"), (.bytes(Data("b".utf8)), "ask digest r"),
            (.stream(nil, length: 1), "ask basic r"),
        ]
        for (body, expected) in bodies {
            let bench = try Bench(.server, Self.request(body: body))
            #expect(try bench.response(401, challenge, Self.basic) == expected)
        }
        // The same realm without that protection.
        let other = #"Digest realm="r", nonce="m", qop="auth""#
        let bench = try Bench(.server, Self.request(body: .stream(nil, length: 1)))
        #expect(try bench.response(401, challenge, other, Self.basic) == "ask digest r")
        #expect(bench.answer("u") == "send again")
        #expect(bench.says()?.contains(#"nonce="m""#) == true)
    }

    // AUTH-18
    @Test("a large body is hashed before the value of the field is needed") func largeBodies() throws {
        let body = Data(repeating: 1, count: BodyDigest.mostBytesOnLoop + 1)
        func toHash(_ bench: Bench) -> DigestHash? {
            bench.stage.bodyToHash(for: bench.subject, isAllowed: { _, _ in true })?.hash
        }
        for (qop, hash) in [("auth", nil), ("auth-int", .sha256)] as [(String, DigestHash?)] {
            let challenge = #"Digest realm="r", nonce="n", algorithm=SHA-256, qop="\#(qop)""#
            let first = try Bench(.server, Self.request(body: .bytes(body)))
            #expect(toHash(first) == nil)
            #expect(try first.response(401, challenge) == "ask digest r")
            #expect(first.answer("u") == "send again")
            #expect(toHash(first) == hash)
            first.stage.take(try #require(BodyDigest(body, .sha256)))
            #expect(toHash(first) == nil)
            #expect(first.says()?.contains("qop=\(qop)") == true)
            #expect(try first.response(200) == "accepted u digest")
            // Another request, of which the credentials are known.
            let bodies = [(body, hash), (body.prefix(BodyDigest.mostBytesOnLoop), nil)] as [(Data, DigestHash?)]
            for (other, expected) in bodies {
                let second = try Bench(.server, Self.request(body: .bytes(other)), memory: first.memory)
                #expect(toHash(second) == expected)
                #expect(second.says()?.contains("nc=0000000") == true)
            }
        }
        // The hash of another body is not used.
        let digest = try #require(BodyDigest(body, .sha256))
        #expect(digest.isOf(body, .sha256) && !digest.isOf(body, .md5))
        #expect(!digest.isOf(Data(repeating: 2, count: body.count), .sha256))
        #expect(digest.octets == MessageDigest.hash(.sha256, Array(body)))
    }

    @Test("without a credential all responses but challenges are ignored") func ignores() throws {
        let bench = try Bench()
        #expect([200, 304, 401, 407, 403].filter(bench.stage.ignores) == [200, 304, 407, 403])
        _ = try bench.response(401, Self.basic)
        _ = bench.answer("u")
        #expect([200, 304, 401, 407].filter(bench.stage.ignores) == [])
        let proxy = try Bench(.proxy, .forwarded(Self.load("http://a.example/"), by: Self.proxy("p.test:1")))
        #expect([200, 401, 407].filter(proxy.stage.ignores) == [200, 401])
    }

    // MARK: The client's answer

    private static let offer = [#"Digest realm="d", nonce="n""#, basic, #"Basic realm="s""#].joined(separator: ", ")

    // AUTH-4, AUTH-5, AUTH-7, AUTH-29
    @Test(
        "what the client's answers lead to",
        arguments: [
            ("credential", ["send again"]),
            ("nothing", ["deliver"]),
            ("default", ["ask basic r quietly"]),
            ("default default default", ["ask basic r quietly", "ask basic s quietly", "deliver"]),
            ("next", ["ask basic r"]),
            ("next next next", ["ask basic r", "ask basic s", "deliver"]),
            ("next default default", ["ask basic r", "ask basic s quietly", "deliver"]),
            ("default next credential", ["ask basic r quietly", "ask basic s quietly", "send again"]),
            // The second answer is to nothing.
            ("nothing credential", ["deliver", "deliver"]), ("credential credential", ["send again", "deliver"]),
        ])
    func answers(given: String, expected: [String]) throws {
        let bench = try Bench()
        #expect(try bench.response(401, Self.offer) == "ask digest d")
        let steps = given.split(separator: " ").map { word in
            switch word {
            case "credential": bench.answer("u")
            case "nothing": bench.answer(.nothing)
            case "default": bench.answer(.defaultHandling)
            default: bench.answer(.nextSpace)
            }
        }
        #expect(steps == expected)
    }

    // AUTH-5: what was rejected is not asked for again in this load
    @Test("a space that was rejected is not offered again") func rejected() throws {
        let bench = try Bench()
        _ = try bench.response(401, Self.offer)
        #expect(bench.answer(.nextSpace) == "ask basic r")
        #expect(bench.answer("u") == "send again")
        #expect(try bench.response(401, Self.offer) == "ask basic r after 1 not u")
    }

    // AUTH-17: a name that no server could read back is not sent
    @Test("a credential that cannot be written is none") func unwritable() throws {
        let bench = try Bench()
        _ = try bench.response(401, Self.basic)
        #expect(bench.answer("a:b") == "deliver")
        #expect(bench.says() == nil)
    }

    // MARK: Refusals

    // AUTH-8, AUTH-9
    @Test("refusals are counted for each space, and the refused credential is passed on") func refusals() throws {
        let bench = try Bench()
        var steps: [String] = []
        for user in ["a", "b"] {
            steps.append(try bench.response(401, Self.basic))
            _ = bench.answer(user)
            #expect(bench.says() == Self.token(user))
        }
        steps.append(try bench.response(401, Self.basic))
        // Another space has its own count, and says nothing of the one before.
        steps.append(try bench.response(401, #"Basic realm="other""#))
        #expect(
            steps == ["ask basic r", "ask basic r after 1 not a", "ask basic r after 2 not b", "ask basic other"])
        #expect(bench.says() == nil)
    }

    // AUTH-9: RFC 9110 §15.5.2, whatever space the server names
    @Test("a server that asks for another space has refused the client's credential") func otherSpace() throws {
        let bench = try Bench()
        var steps = [try bench.response(401, Self.basic)]
        for (user, challenge) in [
            ("a", #"Basic realm="other""#), ("b", Self.basic), ("c", #"Basic realm="other""#), ("d", Self.basic),
        ] {
            _ = bench.answer(user)
            steps.append(try bench.response(401, challenge))
        }
        #expect(
            steps == [
                "ask basic r", "ask basic other", "ask basic r after 1 not a", "ask basic other after 1 not b",
                "ask basic r after 2 not c",
            ])
    }

    // AUTH-9, AUTH-26: it was sent because of the path alone
    @Test("a remembered credential is not refused by a challenge for another space") func rememberedElsewhere() throws {
        let memory = try Self.memoryOfCredential()
        let bench = try Bench(memory: memory)
        #expect(bench.says() == Self.token("u"))
        #expect(try bench.response(401, #"Basic realm="other""#) == "ask basic other")
        #expect(memory.knowsServers)
    }

    // AUTH-18
    @Test("a nonce that was too old is no refusal, three times") func stale() throws {
        let bench = try Bench()
        _ = try bench.response(401, Self.digest)
        _ = bench.answer("u")
        #expect(bench.says() == #"Digest username="u", uri="/x", nonce="n", nc=00000001, qop=auth"#)
        var steps: [String] = []
        for number in 1...4 {
            steps.append(try bench.response(401, #"Digest realm="r", nonce="n\#(number)", qop="auth", stale=true"#))
            if number < 4 {
                #expect(bench.says() == #"Digest username="u", uri="/x", nonce="n\#(number)", nc=00000001, qop=auth"#)
            }
        }
        #expect(steps == ["send again", "send again", "send again", "ask digest r after 1 not u"])
    }

    @Test("endless challenges: the 65th response is delivered") func endless() throws {
        let bench = try Bench()
        var steps: [String] = []
        for number in 0..<66 {
            steps.append(try bench.response(401, #"Basic realm="\#(number)""#))
            if steps.last != "deliver" { _ = bench.answer("u") }
        }
        #expect(steps == (0..<64).map { "ask basic \($0)" } + ["deliver", "deliver"])
        // A redirect may lead to the next question; that the user was let in begins anew.
        #expect(try bench.response(302) == "deliver")
        #expect(try bench.response(401, Self.basic) == "deliver")
        #expect(try bench.response(204) == "deliver")
        #expect(try bench.response(401, Self.basic) == "ask basic r")
    }

    // MARK: What was accepted

    // AUTH-22, AUTH-26
    @Test("an accepted credential is sent preemptively below the same directory") func remembered() throws {
        let memory = AuthenticationMemory()
        let bench = try Bench(.server, Self.request("http://a.example/dir/x"), memory: memory)
        _ = try bench.response(401, Self.basic)
        _ = bench.answer("u")
        #expect(try bench.response(200) == "accepted u basic")
        // From now on the memory counts, also for the same load.
        #expect(bench.says() == Self.token("u"))
        for (url, expected) in [
            ("http://a.example/dir/y", Self.token("u")), ("http://a.example/dir/deep/y", Self.token("u")),
            ("http://a.example/", nil), ("http://a.example:81/dir/y", nil), ("https://a.example/dir/y", nil),
            ("http://b.example/dir/y", nil),
        ] {
            let other = try Bench(.server, Self.request(url), memory: memory)
            #expect(other.says() == expected, "\(url)")
        }
    }

    // AUTH-22: whoever sends it may not have looked at the credential
    @Test("an error of a gateway or of a busy server accepts no credential", arguments: [408, 429, 502, 503, 504])
    func notAccepted(status: Int) throws {
        let bench = try Bench()
        _ = try bench.response(401, Self.basic)
        _ = bench.answer("u")
        #expect(bench.says() == Self.token("u"))
        #expect(try bench.response(status) == "deliver")
        #expect(!bench.memory.knowsServers)
        // The load's own next request sends it again, and the server decides.
        #expect(bench.says() == Self.token("u"))
        #expect(try bench.response(200) == "accepted u basic")
        // What was accepted before stays so.
        let next = try Bench(memory: bench.memory)
        #expect(next.says() == Self.token("u"))
        #expect(try next.response(status) == "deliver")
        #expect(next.memory.knowsServers && next.says() == Self.token("u"))
    }

    // AUTH-27
    @Test("the caller's own field is not replaced until the server sends a challenge") func saidByCaller() throws {
        let memory = try Self.memoryOfCredential()
        let bench = try Bench(.server, Self.request("http://a.example/x", [("Authorization", "mine")]), memory: memory)
        #expect(bench.says() == nil)
        #expect(try bench.response(401, Self.basic) == "ask basic r")
        _ = bench.answer("v")
        #expect(bench.says() == Self.token("v"))
    }

    // AUTH-22: storage may have lost it, or removed it
    @Test("what may not be used any more is forgotten") func notAllowed() throws {
        let memory = try Self.memoryOfCredential()
        #expect(memory.knowsServers)
        let bench = try Bench(memory: memory)
        bench.isAllowed = false
        #expect(bench.says() == nil)
        #expect(!memory.knowsServers)
    }

    // AUTH-22: for this load alone
    @Test("a credential that is not to be kept is no other load's") func notKept() throws {
        let memory = AuthenticationMemory()
        let bench = try Bench(memory: memory)
        _ = try bench.response(401, Self.basic)
        _ = bench.answer("u", isKept: false)
        #expect(try bench.response(200) == "deliver")
        #expect(bench.says() == Self.token("u"))
        #expect(!memory.knowsServers)
        bench.stage.redirected()
        #expect(bench.says() == nil)
    }

    // AUTH-9: it was not given for this load, so nothing is counted
    @Test("what is remembered and refused is forgotten, and counts as no failure") func rememberedAndRefused() throws {
        let memory = try Self.memoryOfCredential()
        let bench = try Bench(memory: memory)
        #expect(bench.says() == Self.token("u"))
        #expect(try bench.response(401, Self.basic) == "ask basic r not u")
        #expect(!memory.knowsServers)
    }

    // AUTH-18, AUTH-26: the same nonce must not be counted twice
    @Test("loads that share a nonce count its uses together") func nonceCount() throws {
        let memory = AuthenticationMemory()
        let first = try Bench(memory: memory)
        _ = try first.response(401, Self.digest)
        _ = first.answer("u")
        _ = first.says()
        #expect(try first.response(200) == "accepted u digest")
        var counts: [String] = []
        for _ in 0..<2 {
            let bench = try Bench(memory: memory)
            counts.append(try #require(bench.says()))
            // The server names the next nonce to one of them.
            #expect(try bench.response(200, #"nextnonce="m""#, field: "Authentication-Info") == "deliver")
        }
        #expect(
            counts == [
                #"Digest username="u", uri="/x", nonce="n", nc=00000002, qop=auth"#,
                #"Digest username="u", uri="/x", nonce="m", nc=00000001, qop=auth"#,
            ])
    }

    // AUTH-18, AUTH-22, AUTH-28: a proxy's credentials are looked up when the request is made, and sent when it has a
    // connection
    @Test("requests that wait for a connection count the uses of a nonce together") func waitingNonceCount() throws {
        let load = try Self.load("http://a.example/x")
        let subject = AuthenticationSubject.forwarded(load, by: try Self.proxy("http://proxy.test:3128"))
        let memory = AuthenticationMemory()
        let first = try Bench(.proxy, subject, memory: memory)
        _ = try first.response(407, Self.digest)
        _ = first.answer("u")
        _ = first.says()
        #expect(try first.response(200) == "accepted u digest")
        let waiting = try (0..<3).map { _ in try Bench(.proxy, subject, memory: memory) }
        #expect(waiting.map { $0.identity() } == [0, 0, 0])
        #expect(
            [waiting[0].says(), waiting[1].says()] == [
                #"Digest username="u", uri="http://a.example/x", nonce="n", nc=00000002, qop=auth"#,
                #"Digest username="u", uri="http://a.example/x", nonce="n", nc=00000003, qop=auth"#,
            ])
        // What was removed in the meantime is not sent.
        waiting[2].isAllowed = false
        #expect(waiting[2].says() == nil)
    }

    // AUTH-18
    @Test("a response whose proof of the password is wrong fails", arguments: ["200", "304", "404"]) func impostor(
        status: String
    )
        throws
    {
        let bench = try Bench()
        _ = try bench.response(401, Self.digest)
        _ = bench.answer("u")
        _ = bench.says()
        let number = try #require(Int(status))
        let error = #expect(throws: LoadError.self) {
            _ = try bench.response(number, #"rspauth="0", qop=auth"#, field: "Authentication-Info")
        }
        #expect(error?.code == -1011)
        #expect(!bench.memory.knowsServers)
    }

    // AUTH-28: what the proxy asks says nothing of what the server makes of the user
    @Test("a proxy's challenge does not accept the server's credential") func proxysChallenge() throws {
        let bench = try Bench()
        _ = try bench.response(401, Self.basic)
        _ = bench.answer("u")
        #expect(try bench.response(407) == "deliver")
        #expect(!bench.memory.knowsServers && bench.says() == Self.token("u"))
    }

    // MARK: The user of the address

    // AUTH-8, AUTH-10, AUTH-11: proposed once for each scheme
    @Test("the URL's credential is proposed until it is refused") func userOfAddress() throws {
        let bench = try Bench(.server, Self.request("http://u:p@a.example/x"))
        #expect(bench.says() == nil)
        #expect(try bench.response(401, Self.basic) == "ask basic r maybe u")
        _ = bench.answer("u")
        #expect(try bench.response(401, Self.basic) == "ask basic r after 1 not u")
        // Whatever the server calls its spaces.
        #expect(try bench.response(401, #"Basic realm="s""#) == "ask basic s")
        #expect(try bench.response(401, Self.digest) == "ask digest r maybe u")
    }

    @Test("the URL's credential is proposed once more in another space") func userAccepted() throws {
        let bench = try Bench(.server, Self.request("http://u:p@a.example/x"))
        _ = try bench.response(401, Self.basic)
        _ = bench.answer("u")
        #expect(try bench.response(200) == "accepted u basic")
        #expect(try bench.response(401, #"Basic realm="s""#) == "ask basic s maybe u")
    }

    @Test("another credential than the address's does not use it up") func otherUser() throws {
        let bench = try Bench(.server, Self.request("http://u:p@a.example/x"))
        _ = try bench.response(401, Self.basic)
        _ = bench.answer("u", "other")
        #expect(try bench.response(401, Self.basic) == "ask basic r after 1 not u maybe u")
    }

    // R-24
    @Test("a redirect's URL has a credential too") func userOfRedirect() throws {
        var request = try Self.load("http://a.example/x")
        request.redirectedUser = ("v", nil)
        let bench = try Bench(.server, .request(request))
        #expect(try bench.response(401, Self.basic) == "ask basic r maybe v")
    }

    // MARK: Other peers

    @Test("a credential is sent to its own server only, and again after a return to it") func peers() throws {
        let bench = try Bench()
        let home = bench.subject
        _ = try bench.response(401, Self.basic)
        _ = bench.answer("u")
        #expect(bench.says() == Self.token("u"))
        bench.subject = try Self.request("http://b.example/x")
        #expect(bench.says() == nil)
        #expect(try bench.response(401, Self.basic) == "ask basic r")
        bench.subject = home
        #expect(bench.says() == Self.token("u"))
        bench.stage.redirected()
        #expect(bench.says() == nil)
    }

    // MARK: The user of the settings

    // PROXY-2, AUTH-28
    @Test("the proxy settings' credential is sent preemptively, then once by each scheme") func settings()
        throws
    {
        let proxy = try Self.proxy("http://u:p@proxy.test:3128")
        let bench = try Bench(.proxy, .forwarded(Self.load("http://a.example/x"), by: proxy))
        #expect(bench.says() == Self.token("u"))
        // It wants something else, and Basic is not said again.
        let digest = #"Digest realm="r", nonce="n", qop="auth""#
        #expect(try bench.response(407, digest, Self.basic) == "send again")
        #expect(bench.says() == #"Digest username="u", uri="http://a.example/x", nonce="n", nc=00000001, qop=auth"#)
        #expect(try bench.response(407, digest, Self.basic) == "ask digest r not u")
        #expect(bench.answer(.nextSpace) == "ask basic r not u")
    }

    // PROXY-2: the proxy may not have looked at a credential that it had not requested
    @Test("the settings' credential is sent by Digest to a proxy that offers no Basic") func settingsByDigest() throws {
        let proxy = try Self.proxy("http://u:p@proxy.test:3128")
        let memory = AuthenticationMemory()
        let bench = try Bench(
            .proxy, .tunnel(to: ProxyDestination(HTTPURL("https://a.example/")), by: proxy), memory: memory)
        #expect(bench.says() == Self.token("u"))
        #expect(try bench.response(407, Self.digest) == "send again")
        #expect(bench.says() == #"Digest username="u", uri="a.example:443", nonce="n", nc=00000001, qop=auth"#)
        #expect(try bench.response(200) == "accepted u digest")
        let next = try Bench(
            .proxy, .tunnel(to: ProxyDestination(HTTPURL("https://b.example/")), by: proxy), memory: memory)
        next.isAllowed = false
        // The client is not asked about the settings' credential.
        #expect(next.says() == #"Digest username="u", uri="b.example:443", nonce="n", nc=00000002, qop=auth"#)
    }

    // AUTH-28: TLS ends at the one and not at the other
    @Test("a credential is not sent to the next proxy") func nextProxy() throws {
        let load = try Self.load("http://a.example/x")
        let bench = try Bench(.proxy, .forwarded(load, by: Self.proxy("https://proxy.test:3128")))
        _ = try bench.response(407, Self.basic)
        _ = bench.answer("u")
        #expect(bench.says() == Self.token("u"))
        bench.subject = .forwarded(load, by: try Self.proxy("http://proxy.test:3128"))
        #expect(bench.says() == nil)
        bench.subject = .forwarded(load, by: try Self.proxy("https://proxy.test:3128"))
        #expect(bench.says() == Self.token("u"))
    }

    // MARK: Conversations

    // AUTH-19, AUTH-20
    @Test("what the steps of a conversation lead to") func conversation() throws {
        let bench = try Bench()
        #expect(try bench.response(401, "Negotiate, \(Self.basic)") == "begin")
        #expect(bench.outcome(.token([1, 2], continues: true)) == "send again")
        #expect(bench.says() == "Negotiate AQI=")
        #expect(bench.stage.isConversing && bench.stage.identity != 0)
        #expect(try bench.response(401, "Negotiate AwQ=") == "advance")
        #expect(bench.outcome(.token([5], continues: false)) == "send again")
        #expect(bench.says() == "Negotiate BQ==")
        // It was the system's credential, so there is none to keep.
        #expect(try bench.response(200) == "deliver")
        #expect(bench.memory.knowsServers)
        // The connection is authenticated: no request needs a field.
        #expect(bench.says() == nil && bench.stage.identity != 0 && !bench.stage.isConversing)
    }

    // AUTH-20, AUTH-5
    @Test(
        "a conversation that comes to nothing",
        arguments: [
            // There is no library: on to the next scheme.
            (GSSSecurityContext.Outcome.unsupported, "ask basic r"),
            // No ticket: the client may know a password.
            (.failed, "ask negotiate -"), (.complete, "ask negotiate -"),
        ])
    func noConversation(outcome: GSSSecurityContext.Outcome, expected: String) throws {
        let bench = try Bench()
        _ = try bench.response(401, "Negotiate, \(Self.basic)")
        #expect(bench.outcome(outcome) == expected)
        #expect(bench.says() == nil && bench.stage.identity == 0)
        // A second outcome is of nothing.
        #expect(bench.outcome(.token([1], continues: true)) == "deliver")
    }

    // AUTH-20, AUTH-28, T-2: a load is suspended while its tunnel waits for a ticket
    @Test("a step that is given up counts as not tried") func stepGivenUp() throws {
        let bench = try Bench()
        #expect(try bench.response(401, "Negotiate, \(Self.basic)") == "begin")
        bench.stage.giveUp()
        #expect(bench.outcome(.token([1], continues: true)) == "deliver")
        #expect(try bench.response(401, "Negotiate, \(Self.basic)") == "begin")
        #expect(bench.outcome(.token([1, 2], continues: true)) == "send again")
        #expect(try bench.response(401, "Negotiate AwQ=") == "advance")
        bench.stage.giveUp()
        // The next connection does not know of the conversation.
        #expect(bench.says() == nil)
        #expect(try bench.response(401, "Negotiate, \(Self.basic)") == "begin")
        #expect(bench.outcome(.failed) == "ask negotiate -")
        bench.stage.giveUp()
        #expect(try bench.response(401, "Negotiate, \(Self.basic)") == "ask negotiate -")
    }

    // AUTH-19: the body of a challenge was too long, and the client does not have to answer once more
    @Test("a conversation whose connection is closed is restarted, once") func begunAnew() throws {
        let bench = try Bench()
        #expect(try bench.response(401, "NTLM") == "ask ntlm -")
        #expect(bench.answer("u") == "begin")
        #expect(bench.outcome(.token([1], continues: true)) == "send again")
        #expect(try bench.response(401, "NTLM Ag==") == "advance")
        #expect(bench.outcome(.token([3], continues: false)) == "send again")
        let identity = bench.stage.identity
        let begins = bench.stage.beginAnew()
        #expect(begins)
        // The next connection is the user's, and does not know of the conversation.
        #expect(bench.says() == nil)
        #expect(bench.stage.identity == identity)
        #expect(try bench.response(401, "NTLM") == "begin")
        #expect(bench.outcome(.token([1], continues: true)) == "send again")
        let beginsAgain = bench.stage.beginAnew()
        #expect(!beginsAgain)
        #expect(bench.says() == "NTLM AQ==")
    }

    private static func channelBinding() throws -> ChannelBinding {
        let identity = try TestIdentity.selfSigned(.localhost)
        let certificate = try #require(Certificate(der: identity.certificate.der))
        return try #require(ChannelBinding(endPoint: certificate))
    }

    // AUTH-37
    @Test("a conversation is bound to the connection of its challenge") func bound() throws {
        let bench = try Bench()
        let (first, second) = (try Self.channelBinding(), try Self.channelBinding())
        // Other schemes do not need it.
        #expect(try bench.response(401, Self.basic, channelBinding: first) == "ask basic r")
        #expect(bench.bindingsAsked == 0)
        #expect(try bench.response(401, "NTLM", channelBinding: first) == "ask ntlm -")
        #expect(try bench.response(401, "Negotiate", channelBinding: second) == "begin")
        #expect(bench.outcome(.failed) == "ask negotiate -")
        // The client answers later.
        #expect(bench.answer("u") == "begin")
        #expect(bench.outcome(.token([1], continues: true)) == "send again")
        #expect(bench.bindings == [second, second])
        let givesUp = bench.stage.givesUp(unlessBoundTo: second)
        #expect(!givesUp)
        #expect(bench.says() == "Negotiate AQ==")
    }

    // AUTH-37: a server may have several certificates, and HTTP/2 may have come over the connection of another origin
    @Test("a token that is bound to another certificate is not sent, once") func boundElsewhere() throws {
        let bench = try Bench()
        let (first, second) = (try Self.channelBinding(), try Self.channelBinding())
        #expect(try bench.response(401, "Negotiate", channelBinding: first) == "begin")
        #expect(bench.outcome(.token([1], continues: true)) == "send again")
        let identity = bench.stage.identity
        let givesUp = bench.stage.givesUp(unlessBoundTo: second)
        #expect(givesUp)
        #expect(bench.says() == nil && !bench.stage.isConversing)
        #expect(bench.stage.identity == identity)
        // The same connection asks: its certificate is known now.
        #expect(try bench.response(401, "Negotiate", channelBinding: second) == "begin")
        #expect(bench.outcome(.token([2], continues: true)) == "send again")
        let givesUpAgain = bench.stage.givesUp(unlessBoundTo: first)
        #expect(!givesUpAgain)
        #expect(bench.says() == "Negotiate Ag==")
        #expect(bench.bindings == [first, second])
    }

    // AUTH-9, AUTH-19
    @Test("a password that a conversation could not prove is refused") func refusedInConversation() throws {
        let bench = try Bench()
        #expect(try bench.response(401, "NTLM") == "ask ntlm -")
        #expect(bench.answer("u") == "begin")
        #expect(bench.outcome(.token([1], continues: true)) == "send again")
        #expect(bench.says() == "NTLM AQ==")
        #expect(try bench.response(401, "NTLM Ag==") == "advance")
        #expect(bench.outcome(.failed) == "ask ntlm - after 1 not u")
        #expect(bench.answer("v") == "begin")
        #expect(bench.outcome(.token([1], continues: true)) == "send again")
        // The server has the credential, and asks from the beginning: it has refused it.
        #expect(try bench.response(401, "NTLM") == "ask ntlm - after 2 not v")
    }

    // AUTH-19: connections are not shared between users
    @Test("users have connections of their own, the same each time") func identities() throws {
        let memory = AuthenticationMemory()
        func identity(_ user: String, isKept: Bool = true) throws -> UInt64 {
            let bench = try Bench(memory: memory)
            _ = try bench.response(401, "NTLM")
            _ = bench.answer(user, isKept: isKept)
            _ = bench.outcome(.token([1], continues: true))
            return bench.stage.identity
        }
        let identities = try [identity("a"), identity("b"), identity("a"), identity("c", isKept: false)]
        #expect(identities[0] == identities[2] && Set(identities).count == 3)
        #expect(try identity("c", isKept: false) != identities[3])
    }
}
