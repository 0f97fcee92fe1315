import LoadingSemantics
import LoadingTransport
import Testing

// AUTH-18
@Suite struct DigestSessionTests {
    private static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
    private static let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
    private static let start = #"Digest realm="http-auth@example.org", nonce="\#(nonce)""#

    private func challenge(_ value: String) throws -> DigestChallenge {
        let fields = HTTPFields([("WWW-Authenticate", value)])
        return try #require(
            AuthenticationChallenge.all(in: fields, of: .server).first.flatMap(DigestChallenge.init))
    }

    private func session(
        _ value: String, user: String = "Mufasa", password: String = "Circle of Life"
    ) throws -> DigestSession {
        try #require(
            DigestSession(challenge(value), user: user, password: password) { MessageDigest.hash($0, $1) })
    }

    private func info(_ value: String) -> AuthenticationInfo? {
        AuthenticationInfo(HTTPFields([("Authentication-Info", value)]), of: .server)
    }

    private func parameters(_ answer: DigestCredentials?) -> [String: String] {
        let fields = HTTPFields([("WWW-Authenticate", answer?.fieldValue ?? "")])
        let all = AuthenticationChallenge.all(in: fields, of: .server).first?.parameters.all ?? []
        return Dictionary(all.map { ($0.name, $0.value) }) { first, _ in first }
    }

    // MARK: The standards' examples

    // RFC 7616 §3.9.1
    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func exampleOfRFC7616(algorithm: String, response: String) throws {
        let opaque = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        var session = try session(
            Self.start + #", qop="auth, auth-int", algorithm=\#(algorithm), opaque="\#(opaque)""#)
        let answer = session.answer(method: "GET", target: "/dir/index.html", clientNonce: Self.clientNonce)
        #expect(
            answer?.fieldValue == #"""
                Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", \#
                algorithm=\#(algorithm), nonce="\#(Self.nonce)", nc=00000001, cnonce="\#(Self.clientNonce)", qop=auth, \#
                response="\#(response)", opaque="\#(opaque)"
                """#)
    }

    // RFC 7616 §3.9.2 with the hashes of erratum 4897
    @Test func exampleWithUserHash() throws {
        let nonce = "5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK"
        let opaque = "HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS"
        var session = try session(
            #"""
            Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, nonce="\#(nonce)", \#
            opaque="\#(opaque)", charset=UTF-8, userhash=true
            """#, user: "J\u{E4}s\u{F8}n Doe", password: "Secret, or not?")
        let answer = session.answer(
            method: "GET", target: "/doe.json", clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v")
        #expect(
            answer?.fieldValue == #"""
                Digest username="793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b", \#
                realm="api@example.org", uri="/doe.json", algorithm=SHA-512-256, nonce="\#(nonce)", nc=00000001, \#
                cnonce="NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v", qop=auth, \#
                response="3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5", \#
                opaque="\#(opaque)", userhash=true
                """#)
    }

    // RFC 2617 §3.5: no algorithm named.
    @Test func exampleOfRFC2617() throws {
        let nonce = "dcd98b7102dd2f0e8b11d0f600bfb0c093"
        var session = try session(
            #"""
            Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="\#(nonce)", \#
            opaque="5ccc069c403ebaf9f0171e9517f40e41"
            """#, password: "Circle Of Life")
        let answer = session.answer(method: "GET", target: "/dir/index.html", clientNonce: "0a4f113b")
        #expect(
            parameters(answer) == [
                "username": "Mufasa", "realm": "testrealm@host.com", "nonce": nonce, "uri": "/dir/index.html",
                "qop": "auth", "nc": "00000001", "cnonce": "0a4f113b",
                "response": "6629fae49393a05397450978507c4ef1", "opaque": "5ccc069c403ebaf9f0171e9517f40e41",
            ])
    }

    // MARK: Algorithms and protections

    // Computed with another implementation of the hashes, for POST /dir/index.html with the body "hello".
    @Test(arguments: [
        ("MD5", nil, "a5bd0b50f7f25258a692c4f36270e05d"), ("MD5", "auth", "6f31d8ff6361bb27783b6ac62b999535"),
        ("MD5", "auth-int", "23fef4d928a3e9fa6e0b0de51288c997"),
        ("md5-SESS", nil, "e20b190988a4cc77b06d9b93070246c7"), ("MD5-sess", "auth", "9e3465d402d672d7b3c6a659201e5672"),
        ("MD5-sess", "auth-int", "1f00ae1cf4fdcb90e9cfc3b1e22118b7"),
        ("SHA-256", nil, "1d27c5c95ffad388403b5002da0025bf7e6e98925ed7fe241c1ae5b684756db3"),
        ("SHA-256", "auth", "b85bfcaae378db6f6d75b1706062ac3d66fec2dd3d0082d77885522866488dac"),
        ("SHA-256", "auth-int", "c98b95dbdb463c4483e324bced57d591946a6f84098142757b1333c52c47d62e"),
        ("SHA-256-sess", nil, "b96234ae9827a4fc5e96f0aa30c1acdd125bd58db0144d6ebaf02b6a0aa752f3"),
        ("SHA-256-sess", "auth", "0e658dc13b25b342e9281bdff874ea276afc02b18423b0b6e6d4db12ef338586"),
        ("SHA-256-sess", "auth-int", "b097196f9caf274775b76c5e5ad2221bdf75111e71e6598a385b951f12032e65"),
        ("SHA-512-256", nil, "1b01534af1def5493a32ffad690021295315a73c0db2d368c601b07452eded79"),
        ("SHA-512-256", "auth", "bd4311c37b3890a2df44699789473e744efafb31f8d789781eac66741224f782"),
        ("SHA-512-256", "auth-int", "94b85dbcbbb97c3bda2751c7e160fe6604eccca585f3cbff75d2a23f0085ed70"),
        ("SHA-512-256-sess", nil, "ab0319da1f38c737e9f585a6b5219ecd4f9ea4cb13768b4ed95a7e4f9613c24e"),
        ("SHA-512-256-sess", "auth", "6a367200f8f86e5ed33f8efa29ba094aa97a9c411b3a57823e11563a89748060"),
        ("SHA-512-256-sess", "auth-int", "6188aa2d1c4d7adbdd32cdee6db3f0f8c107c0e7a45887aecb01647b05eda860"),
    ])
    func responses(algorithm: String, protection: String?, response: String) throws {
        let qop = protection.map { ", qop=\"\($0)\"" } ?? ""
        var session = try session(Self.start + ", algorithm=\(algorithm)" + qop)
        let body = session.bodyHash.flatMap { MessageDigest.hash($0, Array("hello".utf8)) }
        #expect((body != nil) == (protection == "auth-int"))
        let answer = session.answer(
            method: "POST", target: "/dir/index.html", bodyDigest: body, clientNonce: Self.clientNonce)
        let parameters = parameters(answer)
        #expect(parameters["response"] == response)
        #expect(parameters["qop"] == protection)
        #expect(parameters["nc"] == protection.map { _ in "00000001" })
        #expect(parameters["algorithm"]?.lowercased() == algorithm.lowercased())
        let sendsNonce = protection != nil || algorithm.lowercased().hasSuffix("-sess")
        #expect(parameters["cnonce"] == (sendsNonce ? Self.clientNonce : nil))
    }

    @Test(arguments: [
        ("auth, auth-int", DigestQOP.authentication), ("auth-int,auth", .authentication),
        ("auth-int", .integrity), ("AUTH", .authentication), ("auth-conf,auth-int", .integrity), ("", .legacy),
    ])
    func protections(options: String, expected: DigestQOP) throws {
        #expect(try challenge(Self.start + ", qop=\"\(options)\"").protection == expected)
    }

    @Test func missingBodyIsHashedAsEmpty() throws {
        let value = Self.start + ", qop=auth-int"
        var first = try session(value)
        var second = try session(value)
        let empty = MessageDigest.hash(.md5, [])
        #expect(
            first.answer(method: "GET", target: "/", clientNonce: "c")?.fieldValue
                == second.answer(method: "GET", target: "/", bodyDigest: empty, clientNonce: "c")?.fieldValue)
    }

    @Test func missingHashFunction() throws {
        let challenge = try challenge(Self.start)
        #expect(DigestSession(challenge, user: "u", password: "p") { _, _ in nil } == nil)
    }

    // MARK: Names

    @Test func quotedParameters() throws {
        var session = try session(
            #"Digest realm="r\"\\é", nonce="n", qop=auth"#, user: #"ü"\"#, password: "p\u{E4}")
        let answer = session.answer(method: "GET", target: #"/?q=""#, clientNonce: "a")
        #expect(
            answer?.fieldValue == #"""
                Digest username="ü\"\\", realm="r\"\\é", uri="/?q=\"", nonce="n", nc=00000001, cnonce="a", qop=auth, \#
                response="584148a33685e59e8e9bc0afc70db26a"
                """#)
    }

    // RFC 7616 §3.4
    @Test func namesOutsideASCII() throws {
        var session = try session(Self.start + ", qop=auth, charset=UTF-8", user: "J\u{E4}s\u{F8}n Doe")
        let answer = session.answer(method: "GET", target: "/", clientNonce: "a")
        #expect(answer?.fieldValue.hasPrefix("Digest username*=UTF-8''J%C3%A4s%C3%B8n%20Doe, realm=") == true)
    }

    // RFC 8187 §3.2.1: letters and digits stand for themselves
    @Test func whatIsEncodedInNames() throws {
        var session = try session(Self.start + ", qop=auth, charset=UTF-8", user: "\u{E4}09azAZ/:@[`{-")
        let answer = session.answer(method: "GET", target: "/", clientNonce: "a")
        #expect(
            answer?.fieldValue.hasPrefix("Digest username*=UTF-8''%C3%A409azAZ%2F%3A%40%5B%60%7B%2D, realm=") == true)
    }

    // RFC 9110 §5.6.4: all three are sent back
    @Test(arguments: ["realm", "nonce", "opaque"]) func controlsInChallenges(name: String) {
        let whole = ["realm": "r", "nonce": "n", "opaque": "o"]
        func read(_ parameters: [String: String]) -> DigestChallenge? {
            DigestChallenge(
                AuthenticationChallenge(
                    scheme: "digest",
                    parameters: parameters.map { AuthenticationParameters.Parameter($0.key, $0.value) }))
        }
        #expect(read(whole) != nil)
        #expect(read(whole.merging([name: "a\tb"]) { $1 }) != nil)
        for control in ["\u{0}", "\u{1F}", "\u{7F}", "\r\n"] {
            #expect(read(whole.merging([name: "a\(control)b"]) { $1 }) == nil)
        }
    }

    // AUTH-26: what `AuthenticationScope` takes from the challenge.
    @Test func domainsOfChallenges() throws {
        #expect(try challenge(Self.start + #", domain="/a /b""#).domain == "/a /b")
        #expect(try challenge(Self.start).domain == nil)
    }

    @Test func namesThatCannotBeWritten() throws {
        var session = try session(Self.start, user: "a\r\nb")
        #expect(session.answer(method: "GET", target: "/", clientNonce: "a") == nil)
    }

    // MARK: Nonces

    @Test func noncesAreCounted() throws {
        var session = try session(Self.start + ", qop=auth, algorithm=SHA-256")
        _ = session.answer(method: "GET", target: "/", clientNonce: "c1")
        let second = parameters(session.answer(method: "GET", target: "/dir/index.html", clientNonce: "c2"))
        #expect(second["nc"] == "00000002")
        #expect(second["response"] == "1aaecce2277879f5290c868b9d7452e036406e2d79d1eac5ca5eef0a34ec357c")

        session.accept(info(#"nextnonce="n2""#))
        let third = parameters(session.answer(method: "GET", target: "/dir/index.html", clientNonce: "c3"))
        #expect(third["nc"] == "00000001")
        #expect(third["nonce"] == "n2")
        #expect(third["response"] == "e341139ed1fd955a802539ca86dc1f448ff4b092c1a47fa3e30e21810069928b")

        // Repeating the same nonce does not reset the count.
        session.accept(info(#"nextnonce="n2""#))
        session.accept(info(#"nextnonce="""#))
        session.accept(nil)
        #expect(parameters(session.answer(method: "GET", target: "/", clientNonce: "c4"))["nc"] == "00000002")
    }

    // RFC 7616 §3.4.2: H(A1) of a session uses its first nonce and cnonce, whatever nonce follows. The first
    // cnonce is repeated each time.
    @Test func sessionSecretsLastAsLongAsTheChallenge() throws {
        let start = #"Digest realm="r", qop=auth, algorithm=MD5-sess"#
        var session = try session(start + ", nonce=n", user: "u", password: "p")
        func response(_ clientNonce: String) -> String? {
            parameters(session.answer(method: "GET", target: "/", clientNonce: clientNonce))["response"]
        }
        #expect(response("a") == "f68668a028c6ad8aa00e044e61015ea3")
        #expect(response("b") == "8141b0ae173aa81fc3a1cf3c8c639e5e")
        session.accept(info("nextnonce=n2"))
        #expect(response("c") == "933e0cd792e98e18ee086a084e948785")
        #expect(session.renew(with: try challenge(start + ", nonce=n3, stale=true")))
        #expect(response("d") == "c8301354e683114fa00850a9af4cedc3")
    }

    @Test func staleNoncesAreRenewed() throws {
        var session = try session(Self.start + ", qop=auth")
        _ = session.answer(method: "GET", target: "/", clientNonce: "a")
        let renewed = #"Digest realm="http-auth@example.org", qop=auth, nonce="n2", opaque=o, stale="#
        #expect(!session.renew(with: try challenge(renewed + "false")))
        #expect(session.renew(with: try challenge(renewed + "TRUE")))
        let answer = parameters(session.answer(method: "GET", target: "/", clientNonce: "a"))
        #expect([answer["nonce"], answer["nc"], answer["opaque"]] == ["n2", "00000001", "o"])
        // The nonce just used cannot be stale, and another realm is a different challenge.
        #expect(!session.renew(with: try challenge(renewed + "true")))
        #expect(!session.renew(with: try challenge("Digest realm=other, nonce=n3, stale=true")))
    }

    @Test func staleRenewalsAreLimited() throws {
        var session = try session(Self.start + ", qop=auth")
        let stale = try (0..<8).map {
            try challenge(#"Digest realm="http-auth@example.org", nonce=n\#($0), stale=true"#)
        }
        #expect(stale[..<4].map { session.renew(with: $0) } == [true, true, true, false])
        session.accept(nil)
        #expect(stale[4...].map { session.renew(with: $0) } == [true, true, true, false])
    }

    // MARK: The server's proof

    @Test(arguments: [
        (
            #"rspauth="86d3b25618d41854ca5039a5d7e53ff6355d5134a9b1fb088a78ac3c462195a0""#,
            DigestCredentials.ServerProof.right
        ),
        (#"rspauth="86D3B25618D41854CA5039A5D7E53FF6355D5134A9B1FB088A78AC3C462195A0", qop=auth"#, .right),
        (
            """
            qop=auth, nc=00000001, cnonce="\(clientNonce)", \
            rspauth="86d3b25618d41854ca5039a5d7e53ff6355d5134a9b1fb088a78ac3c462195a0"
            """, .right
        ),
        (#"rspauth="86d3b25618d41854ca5039a5d7e53ff6355d5134a9b1fb088a78ac3c462195a1""#, .wrong),
        (#"rspauth="""#, .wrong), ("rspauth=x, qop=auth-conf", .wrong),
        (#"rspauth="86d3b25618d41854ca5039a5d7e53ff6355d5134a9b1fb088a78ac3c462195a0", nc=00000002"#, .wrong),
        (#"rspauth="86d3b25618d41854ca5039a5d7e53ff6355d5134a9b1fb088a78ac3c462195a0", cnonce=x"#, .wrong),
        (#"rspauth="724d0c27aa5b736407cc00de2de227f881454ef6203dbf2c4e5387d57ea15741", qop=auth-int"#, .missing),
        ("nextnonce=x", .missing), ("", .missing),
    ])
    func serverProofs(value: String, expected: DigestCredentials.ServerProof) throws {
        var session = try session(Self.start + ", qop=auth, algorithm=SHA-256")
        let answer = session.answer(method: "GET", target: "/dir/index.html", clientNonce: Self.clientNonce)
        #expect(answer?.serverProof(in: info(value)) == expected)
    }

    @Test func bodyIntegrity() throws {
        var session = try session(Self.start + ", qop=auth-int, algorithm=SHA-256")
        let answer = session.answer(method: "GET", target: "/dir/index.html", clientNonce: Self.clientNonce)
        let info = info(
            #"rspauth="724d0c27aa5b736407cc00de2de227f881454ef6203dbf2c4e5387d57ea15741", qop=auth-int"#)
        #expect(answer?.serverProof(in: info, bodyDigest: MessageDigest.hash(.sha256, Array("hi".utf8))) == .right)
        #expect(answer?.serverProof(in: info, bodyDigest: MessageDigest.hash(.sha256, [])) == .wrong)
        #expect(answer?.serverProof(in: nil) == .missing)
    }
}
