import LoadingSemantics
import Testing

// AUTH-18
@Suite struct AuthenticationInfoTests {
    private func info(_ value: String, field: String = "Authentication-Info") -> AuthenticationInfo? {
        AuthenticationInfo(HTTPFields([(field, value)]), of: .server)
    }

    // RFC 9110 §11.6.3, §11.7.3
    @Test func fieldsOfServersAndProxies() {
        #expect(info("nextnonce=n")?.nextNonce == "n")
        #expect(info("nextnonce=n", field: "Proxy-Authentication-Info") == nil)
        let fields = HTTPFields([("Proxy-Authentication-Info", "nextnonce=n")])
        #expect(AuthenticationInfo(fields, of: .proxy)?.nextNonce == "n")
    }

    @Test(
        arguments: [
            ("nextnonce=n", "n"), (#"nextnonce="n m""#, "n m"), ("NextNonce=n", "n"), ("qop=auth, nextnonce=n", "n"),
            ("nextnonce=n, nextnonce=m", "n"),
            // What could not be sent back is none.
            ("qop=auth", nil), ("nextnonce=", nil), (#"nextnonce="""#, nil), ("nextnonce=\"a\u{1}\"", nil), ("", nil),
            // What is no parameter hides none.
            ("nextnonce", nil), ("x, nextnonce=n", "n"), ("=x, nextnonce=n", "n"), ("@, nextnonce=n", "n"),
        ] as [(String, String?)])
    func nextNonces(value: String, expected: String?) {
        #expect(info(value)?.nextNonce == expected)
    }

    // How much of it is read at all: 32 parameters, 128 KiB.
    @Test func limits() {
        func parameters(_ count: Int) -> String { (0..<count).map { "p\($0)=1" }.joined(separator: ",") }
        #expect([31, 32, 33].map { info(parameters($0))?.parameters.all.count } == [31, 32, 32])
        #expect(info("p=" + String(repeating: "1", count: 131_070))?.parameters.all.count == 1)
        #expect(info("p=" + String(repeating: "1", count: 131_071)) == nil)
    }
}
