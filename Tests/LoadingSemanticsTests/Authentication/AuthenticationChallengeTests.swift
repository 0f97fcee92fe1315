import LoadingSemantics
import Testing

// AUTH-15
@Suite struct AuthenticationChallengeTests {
    private typealias Parameter = AuthenticationParameters.Parameter

    private func challenges(_ values: String...) -> [AuthenticationChallenge] {
        AuthenticationChallenge.all(in: HTTPFields(values.map { ("www-authenticate", $0) }), of: .server)
    }

    private func challenge(
        _ scheme: String, token: String? = nil, _ parameters: KeyValuePairs<String, String> = [:]
    ) -> AuthenticationChallenge {
        AuthenticationChallenge(
            scheme: scheme, token: token, parameters: parameters.map { Parameter($0.key, $0.value) })
    }

    // RFC 9110 §11.6.1
    @Test func exampleOfTheStandard() {
        #expect(
            challenges(#"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#) == [
                challenge("basic", ["realm": "simple"]),
                challenge("newauth", ["realm": "apps", "type": "1", "title": #"Login to "apps""#]),
            ])
    }

    // RFC 7616 §3.9.1
    @Test func digestTwice() {
        let parameters: KeyValuePairs = [
            "realm": "http-auth@example.org", "qop": "auth, auth-int", "algorithm": "SHA-256",
            "nonce": "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",
            "opaque": "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS",
        ]
        let value = #"""
            Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, \#
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
            """#
        #expect(challenges(value) == [challenge("digest", parameters)])
        #expect(challenges(value, value).count == 2)
        #expect(challenges(value + "," + value).count == 2)
    }

    @Test(arguments: [
        // One, in each form.
        ("Basic", ["basic"]), ("NTLM", ["ntlm"]), ("Negotiate YII/-._~+==", ["negotiate YII/-._~+=="]),
        ("NTLM TlRMTVNTUAAC, Basic realm=x", ["ntlm TlRMTVNTUAAC", "basic|realm=x"]),
        ("Basic realm=\"\"", ["basic|realm="]), ("BASIC REALM=\"X\"", ["basic|realm=X"]),
        ("Basic realm = \t \"x\"", ["basic|realm=x"]), ("Basic realm=\"a\\\\b\\\"c, d\"", ["basic|realm=a\\b\"c, d"]),
        ("Basic realm=\"ü\"", ["basic|realm=ü"]),
        ("Basic   realm=x  ,  charset = UTF-8 ", ["basic|realm=x|charset=UTF-8"]),
        // Several.
        ("Negotiate, NTLM", ["negotiate", "ntlm"]),
        ("Negotiate,NTLM,Basic realm=x", ["negotiate", "ntlm", "basic|realm=x"]),
        ("Basic realm=x, Negotiate, Digest nonce=y", ["basic|realm=x", "negotiate", "digest|nonce=y"]),
        (", ,Basic realm=x,,, NTLM,", ["basic|realm=x", "ntlm"]), ("", []), (" , ,\t", []),
        ("Negotiate abc=,Basic realm=x", ["negotiate abc=", "basic|realm=x"]),
        ("Negotiate abc= , NTLM\t", ["negotiate abc=", "ntlm"]), ("Negotiate abc= ", ["negotiate abc="]),
    ])
    func forms(value: String, expected: [String]) {
        #expect(challenges(value).map(line) == expected)
    }

    // Malformed challenges, next to well-formed ones.
    @Test(arguments: [
        // The comma between parameters is missing.
        (#"Digest realm="a" nonce="b", Basic realm="c""#, ["digest|realm=a|nonce=b", "basic|realm=c"]),
        (#"Digest realm=a nonce=b/c==, Basic realm=c"#, ["digest|realm=a|nonce=b/c==", "basic|realm=c"]),
        // A quote is missing.
        (#"Basic realm="a, Digest realm="b", nonce="c""#, ["basic|realm=a", "digest|realm=b|nonce=c"]),
        (#"Digest realm="b", Basic realm="a"#, ["digest|realm=b", "basic|realm=a"]),
        (#"Basic realm="a, NTLM"#, ["basic|realm=a", "ntlm"]),
        (#"Basic realm=a", NTLM"#, [#"basic|realm=a""#, "ntlm"]),
        (#"Basic realm="a\"#, [#"basic|realm=a\"#]), (#"Basic realm=""#, ["basic|realm="]),
        // Unexpected text.
        (#"Basic realm="a"x, NTLM"#, ["basic|realm=a", "ntlm"]),
        (#"Basic realm="a"; title="b", NTLM"#, ["basic|realm=a", "ntlm"]),
        (#"NTLM some words, Basic realm="a""#, ["ntlm", "basic|realm=a"]), ("@, Basic realm=a", ["basic|realm=a"]),
        (#""Basic", NTLM"#, ["ntlm"]), ("Basic;realm=a, NTLM", ["ntlm"]), ("=x, NTLM", ["ntlm"]),
        (#"Negotiate YII= x, Basic realm="a""#, ["negotiate|yii=x", "basic|realm=a"]), ("Ünknown x, NTLM", ["ntlm"]),
        // A parameter without a challenge.
        (#"realm="a", Basic realm="b""#, ["basic|realm=b"]),
    ])
    func brokenOnes(value: String, expected: [String]) {
        #expect(challenges(value).map(line) == expected)
    }

    private func line(_ challenge: AuthenticationChallenge) -> String {
        let head = challenge.scheme + (challenge.token.map { " " + $0 } ?? "")
        return head + challenge.parameters.all.map { "|\($0.name)=\($0.value)" }.joined()
    }

    @Test func fieldsAreReadApart() {
        #expect(
            challenges(#"Basic realm="a"#, "nonce=stray", #"Digest nonce="b""#, "NTLM").map(line)
                == ["basic|realm=a", "digest|nonce=b", "ntlm"])
    }

    @Test func proxiesHaveTheirOwnField() {
        let fields = HTTPFields([("WWW-Authenticate", "Basic"), ("Proxy-Authenticate", "NTLM")])
        #expect(AuthenticationChallenge.all(in: fields, of: .proxy) == [challenge("ntlm")])
        #expect(ChallengeSource.server.credentialField == "Authorization")
        #expect(ChallengeSource.proxy.credentialField == "Proxy-Authorization")
        #expect(ChallengeSource(status: 401) == .server)
        #expect(ChallengeSource(status: 407) == .proxy)
        #expect(ChallengeSource(status: 403) == nil)
    }

    @Test func firstOfARepeatedParameterCounts() {
        #expect(challenges("Basic realm=a, realm=b").first?.realm == "a")
    }

    // Numbers, not `Limit`: what it says is what is tested.
    @Test func limits() {
        func many(_ count: Int) -> String { Array(repeating: "A", count: count).joined(separator: ",") }
        #expect([31, 32, 33].map { challenges(many($0)).count } == [31, 32, 32])
        #expect(challenges(many(31), "B", "C").count == 32)
        #expect(challenges(many(31), "B, C").last?.scheme == "b")
        func parameters(_ count: Int) -> String { (0..<count).map { "p\($0)=1" }.joined(separator: ",") }
        #expect(
            [31, 32, 33].map { challenges("A " + parameters($0)).map(\.parameters.all.count) } == [[31], [32], [32]])
        #expect(challenges("A " + parameters(33) + ", B").map(\.parameters.all.count) == [32, 0])
        let longest = "Negotiate " + String(repeating: "A", count: 131_072 - 10)
        #expect(challenges(longest).count == 1)
        #expect(challenges("B", longest, "NTLM").map(line) == ["b"])
    }

    // No input traps or takes long: all arrangements of quotes, backslashes and commas.
    @Test func allInputIsParsed() {
        let alphabet = Array(#"a=",\ "#.utf8)
        var broken: [String] = []
        for number in 0..<7776 {
            var rest = number
            var text: [UInt8] = []
            for _ in 0..<5 {
                text.append(alphabet[rest % alphabet.count])
                rest /= alphabet.count
            }
            let value = "Basic realm=x, " + String(decoding: text, as: UTF8.self) + ", NTLM"
            let schemes = challenges(value).map(\.scheme)
            // An unterminated quote may swallow another challenge only if a second quote terminates it.
            let mayEat = text.count(where: { $0 == UInt8(ascii: "\"") }) > 1
            if schemes.first != "basic" || !mayEat && schemes.last != "ntlm" { broken.append(value) }
        }
        #expect(broken == [])
        let quotes = String(repeating: #"a=",\"#, count: 20_000)
        #expect(challenges("Basic " + quotes).first?.scheme == "basic")
    }
}
