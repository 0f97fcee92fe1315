import LoadingSemantics
import Testing

// AUTH-17
@Suite struct BasicAuthenticationTests {
    // The first two are RFC 7617 §2 and §2.1.
    @Test(arguments: [
        ("Aladdin", "open sesame", false, "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ("test", "123\u{A3}", true, "Basic dGVzdDoxMjPCow=="), ("test", "123\u{A3}", false, "Basic dGVzdDoxMjOj"),
        ("test", "\u{20AC}", false, "Basic dGVzdDrigqw="), ("", "", false, "Basic Og=="),
        ("a", "b:c", false, "Basic YTpiOmM="),
    ])
    func credentials(user: String, password: String, isUTF8: Bool, expected: String) {
        #expect(BasicAuthentication.fieldValue(user: user, password: password, isUTF8: isUTF8) == expected)
    }

    // RFC 7617 §2: the first colon ends the name.
    @Test func userNameWithColonIsRejected() {
        #expect(BasicAuthentication.fieldValue(user: "a:b", password: "c", isUTF8: true) == nil)
    }

    @Test(arguments: [
        (#"Basic realm="foo", charset="UTF-8""#, true), (#"Basic realm="foo", charset=utf-8"#, true),
        (#"Basic realm="foo", charset="ISO-8859-1""#, false), (#"Basic realm="foo""#, false),
    ])
    func charset(value: String, isUTF8: Bool) throws {
        let fields = HTTPFields([("WWW-Authenticate", value)])
        let challenge = try #require(AuthenticationChallenge.all(in: fields, of: .server).first)
        #expect(BasicAuthentication.isUTF8(challenge) == isUTF8)
    }
}
