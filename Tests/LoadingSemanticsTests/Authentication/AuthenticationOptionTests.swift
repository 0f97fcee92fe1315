import LoadingSemantics
import Testing

// AUTH-5, AUTH-15, AUTH-16, AUTH-34, AUTH-36
@Suite struct AuthenticationOptionTests {
    private static let every = Set(AuthenticationScheme.allCases)

    private func options(
        _ value: String?, possible: Set<AuthenticationScheme> = every,
        hashes: Set<DigestHash> = Set(DigestHash.allCases)
    ) -> [String] {
        let fields = HTTPFields(value.map { [("WWW-Authenticate", $0)] } ?? [])
        let challenges = AuthenticationChallenge.all(in: fields, of: .server)
        return AuthenticationOption.options(for: challenges, possible: possible, hashes: hashes).map {
            ([$0.scheme.name] + [$0.challenge.realm, $0.challenge.parameters["algorithm"]].compactMap { $0 })
                .joined(separator: " ")
        }
    }

    @Test(arguments: [
        (nil, []), ("", []), ("Bearer realm=x, PrivateToken challenge=y, Foo", []),
        ("Basic realm=a, Digest realm=a, nonce=n, NTLM, Negotiate, Foo", ["Negotiate", "NTLM", "Digest a", "Basic a"]),
        ("Basic realm=a, Basic realm=b, Basic realm=a", ["Basic a", "Basic b"]),
        // Unsupported: an unknown algorithm, an unknown qop, no nonce, a control character.
        ("Digest realm=a, nonce=n, algorithm=SHA-3, Basic realm=b", ["Basic b"]),
        ("Digest realm=a, nonce=n, qop=auth-conf, Basic realm=b", ["Basic b"]),
        ("Digest realm=a, Basic realm=b", ["Basic b"]),
        ("Digest realm=\"a\u{1}\", nonce=n, Basic realm=b", ["Basic b"]),
        // One protection space with several algorithms: the server's order applies.
        (
            "Digest realm=a, nonce=n, algorithm=SHA-3, Digest realm=a, nonce=n, algorithm=SHA-256, "
                + "Digest realm=a, nonce=n, algorithm=MD5", ["Digest a SHA-256"]
        ),
    ])
    func order(value: String?, expected: [String]) {
        #expect(options(value) == expected)
    }

    @Test func possibleSchemes() {
        let value =
            "Negotiate, NTLM, Digest realm=a, nonce=n, algorithm=MD5, Digest realm=a, nonce=n, algorithm=SHA-256"
        #expect(options(value, possible: [.digest, .basic]) == ["Digest a MD5"])
        #expect(options(value, possible: [.ntlm, .digest], hashes: [.sha256]) == ["NTLM", "Digest a SHA-256"])
        #expect(options(value, possible: []) == [])
    }

    // AUTH-19
    @Test func connectionBasedSchemes() {
        #expect(AuthenticationScheme.allCases.filter(\.authenticatesConnection) == [.ntlm, .negotiate])
    }
}
