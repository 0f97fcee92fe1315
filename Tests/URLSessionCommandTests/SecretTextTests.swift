import Testing
import URLSessionCommandCore

/// Which parts of text are redacted.
@Suite struct SecretTextTests {
    @Test(arguments: [
        ("https://h/a?b=c&d", "https://h/a?b=c&d"),
        ("https://ann:pw@h/a", "https://[redacted]@h/a"),
        ("https://h/a@b?c=d@e", "https://h/a@b?c=d@e"),
        ("https://h/?access_token=t0&b=c", "https://h/?access_token=[redacted]&b=c"),
        ("/?api_key=k&API-Key=k&apiKey=k", "/?api_key=[redacted]&API-Key=[redacted]&apiKey=[redacted]"),
        ("/cb#id_token=t&state=s", "/cb#id_token=[redacted]&state=s"),
        ("/?user%5Bpassword%5D=p", "/?user%5Bpassword%5D=[redacted]"),
        ("/?password=", "/?password="),
        ("/?max_tokens=5&token_type=bearer&monkey=1", "/?max_tokens=5&token_type=bearer&monkey=1"),
        ("/?X-Amz-Signature=s&X-Amz-Date=d", "/?X-Amz-Signature=[redacted]&X-Amz-Date=d"),
        ("</a?token=t>; rel=next, <https://u:p@h/>", "</a?token=[redacted]>; rel=next, <https://[redacted]@h/>"),
        ("5; url=https://u:p@h/?sig=s", "5; url=https://[redacted]@h/?sig=[redacted]"),
        ("/login?next=https%3A%2F%2Fh%2F%3Ftoken%3Dt", "/login?next=https%3A%2F%2Fh%2F%3Ftoken%3D%5Bredacted%5D"),
        ("/login?next=%2Fa%20b", "/login?next=%2Fa%20b"),
        ("secret=\"a b\", c=\"d\"", "secret=\"[redacted]\", c=\"d\""),
        ("{\"password\": \"a\\\"b\", \"n\": 1}", "{\"password\": \"[redacted]\", \"n\": 1}"),
        ("{\"otp\":123456,\"code\":7}", "{\"otp\":\"[redacted]\",\"code\":7}"),
        ("{\"token\":null,\"session\":{\"a\":1}}", "{\"token\":null,\"session\":\"[redacted]\"}"),
        ("a: b // c @ d", "a: b // c @ d"), ("", ""), ("=", "="), ("\"token\":", "\"token\":"), ("//", "//"),
        ("token=\"", "token=\""), ("{\"token\":\"\\", "{\"token\":\"[redacted]"),
        ("a=1&password=\"b c\"&d=2", "a=1&password=\"[redacted]\"&d=2"),
        ("password='a'hunter2; b", "password='[redacted]'[redacted]; b"),
        ("{\"u\":\"/?token=\",\"n\":\"x\"}", "{\"u\":\"/?token=\",\"n\":\"x\"}"),
    ])
    func texts(_ text: String, _ shown: String) {
        #expect(SecretText.hiding(in: text) == shown)
    }

    @Test(
        "JSON of every depth",
        arguments: [
            (#"{"token":["hunter2",{"a":"]"}],"n":1}"#, #"{"token":"[redacted]","n":1}"#),
            (#"{"secret":{"v":"hunter2"}, "n":[1]}"#, #"{"secret":"[redacted]", "n":[1]}"#),
            (#"{"passwords":["hunter2"],"tokens":"hunter2"}"#, #"{"passwords":"[redacted]","tokens":"[redacted]"}"#),
            (#"{"max_tokens":5,"tokens":"7","token":7}"#, #"{"max_tokens":5,"tokens":"7","token":"[redacted]"}"#),
            (#"{"token":["hunter2""#, #"{"token":"[redacted]""#),
            (#"{"body":"{\"password\":\"hunter2\"}"}"#, #"{"body":"{\"password\":\"[redacted]\"}"}"#),
            (
                #"{"body":"{\"password\" :\n \"hun\\\"ter2\",\"n\":1}"}"#,
                #"{"body":"{\"password\" :\n \"[redacted]\",\"n\":1}"}"#
            ),
            (
                #"{"body":"{\"pin\":1234,\"keys\":{\"token\":[\"hunter2\",\"]\"]}}"}"#,
                #"{"body":"{\"pin\":\"[redacted]\",\"keys\":{\"token\":\"[redacted]\"}}"}"#
            ),
            // A backslash at the end of the secret, three deep.
            (
                #"{"a":"{\"b\":\"{\\\"secret\\\":\\\"hunter2\\\\\\\\\\\",\\\"c\\\":1}\"}"}"#,
                #"{"a":"{\"b\":\"{\\\"secret\\\":\\\"[redacted]\\\",\\\"c\\\":1}\"}"}"#
            ),
            // Cut off in the string around it.
            (#"{"a":"{\"secret\":\"hunter2","n":1}"#, #"{"a":"{\"secret\":\"[redacted]","n":1}"#),
            (#"{"a":"{\"secret\":[\"hunter2","n":1}"#, #"{"a":"{\"secret\":\"[redacted]\"","n":1}"#),
            (
                #"{"a":"https://h/?token=t","b":"/?x=\"&token=t\""}"#,
                #"{"a":"https://h/?token=[redacted]","b":"/?x=\"&token=[redacted]\""}"#
            ),
            (#"{"h":"Digest secret=\"hunter2 x\", c"}"#, #"{"h":"Digest secret=\"[redacted]\", c"}"#),
        ])
    func json(_ text: String, _ shown: String) {
        #expect(SecretText.hiding(in: text) == shown)
    }

    // RFC 3986 §3.4: a query has all these in it
    @Test(
        "a value in a query ends at the next one",
        arguments: [
            ("/?password=hunter2,tail;more&a=b", "/?password=[redacted]&a=b"),
            ("/?password='a'hunter2#f", "/?password=[redacted]#f"),
            ("/?a=b,c;password=hun,ter2&d", "/?a=b,c;password=[redacted]&d"),
            ("/x?next=/y?password=hunter2,tail", "/x?next=/y?password=[redacted]"),
            ("/cb#id_token=a,b&c=d", "/cb#id_token=[redacted]&c=d"),
            (
                "/?a=%FFx&next=https%3A%2F%2Fu%3Ahunter2%40h%2F%FF",
                "/?a=%FFx&next=https%3A%2F%2F%5Bredacted%5D%40h%2F%FF"
            ),
            ("/?pass%77ord%FF=hunter2", "/?pass%77ord%FF=[redacted]"),
            ("/?max_tokens=5&tokens=hunter2", "/?max_tokens=5&tokens=[redacted]"),
        ])
    func queries(_ text: String, _ shown: String) {
        #expect(SecretText.hiding(in: text) == shown)
        #expect(SecretText.hiding(in: text, as: .address) == shown)
    }

    @Test("an address that is all there is may have blanks and marks in it") func addresses() {
        #expect(
            SecretText.hiding(in: #"https://u:a b"c@h/p;token=x,y/z?pin=1 2"3&a"#, as: .address)
                == "https://[redacted]@h/p;token=[redacted]/z?pin=[redacted]&a")
        #expect(
            SecretText.hiding(in: "</a?token=x,y>; rel=next; token=a, b=c")
                == "</a?token=[redacted]>; rel=next; token=[redacted], b=c")
    }

    @Test func forms() {
        #expect(
            SecretText.hiding(in: "user=ann&password=a;b,c d&x=1", as: .form) == "user=ann&password=[redacted]&x=1")
        let part = "--b\r\nContent-Disposition: form-data; name=\"%\"\r\n\r\n"
        let (user, password) = (part.replacing("%", with: "user"), part.replacing("%", with: "password"))
        #expect(
            SecretText.hiding(in: user + "ann\r\n" + password + "p\r\nq\r\n--b--\r\n", as: .multipart)
                == user + "ann\r\n" + password + "[redacted]\r\n--b--\r\n")
    }

    // RFC 2046 §5.1: what senders make of it
    @Test(
        "forms in parts",
        arguments: [
            "--b\nContent-Disposition: form-data; name=\"password\"\n\n%\n--b\nContent-Disposition: x\n\nann\n--b--\n",
            "--b\r\nContent-Disposition: form-data; name=password\r\nX: y\r\n\r\n%\r\n--b--\r\n",
            "--b\r\ncontent-disposition: form-data; NAME=password; a=b\r\n\r\n%\r\n--b--\r\n",
            "first\r\n--b\r\nX: \(String(repeating: "y", count: 2_000)); name=\"secret\"\r\nX: y\r\n\r\n%",
            "--b\r\nX: a; name=\"secret\"; x=\"\(String(repeating: "y", count: 2_000))\"\r\n\r\n%",
        ])
    func parts(_ form: String) {
        for secret in ["hunter2", "-----BEGIN KEY-----\r\nabc\r\n--\n-----END KEY-----"] {
            #expect(
                SecretText.hiding(in: form.replacing("%", with: secret), as: .multipart)
                    == form.replacing("%", with: "[redacted]"))
        }
    }

    // What a server sends must not take long to look through.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            "a=", "a=%3D", "//", "\":", "name=\"token\"", "a=\"", "//a@", "?a=", "\"token\":[", "\\", "\\\"a\\\":",
            "name=a\n\n", "=\n--",
        ])
    func longTexts(_ piece: String) {
        let text = String(repeating: piece, count: 32_768 / piece.utf8.count)
        for kind in [SecretText.Kind.text, .form, .multipart] {
            #expect(!SecretText.hiding(in: text, as: kind).isEmpty)
        }
    }

    @Test func addressesStayAddresses() {
        #expect(
            SecretText.hiding(inURL: "https://u:p@h/?token=t&a=b")
                == "https://%5Bredacted%5D@h/?token=%5Bredacted%5D&a=b")
    }

    @Test(
        arguments: [
            ("Authorization", "Basic YTpi", "Basic [redacted]"), ("Authorization", "secret", "[redacted]"),
            ("Proxy-Authorization", "Digest a=\"b\"", "Digest [redacted]"), ("Cookie", "a=b", "[redacted]"),
            ("Authorization", "s3cr3t-part1 s3cr3t-part2", "[redacted]"),
            ("Authorization", "DPoP t", "DPoP [redacted]"),
            ("X-Remaining-Tokens", "5", "5"), ("X-Tokens", "t", "[redacted]"),
            ("Location", "/?pin=a,b c", "/?pin=[redacted]"),
            ("Private-Token", "t", "[redacted]"), ("X-Vault-Token", "t", "[redacted]"),
            ("X-Csrf-Token", "t", "[redacted]"),
            ("X-Api-Key", "t", "[redacted]"), ("X-Functions-Key", "t", "[redacted]"), ("X-Forwarded-For", "t", "t"),
            ("X-Original", "Bearer t", "[redacted]"), ("WWW-Authenticate", "Basic realm=\"r\"", "Basic realm=\"r\""),
            ("Access-Control-Allow-Credentials", "true", "true"), ("Content-Type", "text/plain; charset=utf-8", nil),
            ("Sec-WebSocket-Key", "k", "k"), ("Sec-WebSocket-Protocol", "bearer.t, chat", "[redacted]"),
            ("Sec-WebSocket-Key", "o+fo035McQtT78NKxejWtA==", "o+fo035McQtT78NKxejWtA=="),
            ("Sec-WebSocket-Accept", "jfTXjwtBXf9mZEKNYMVaGLk2X2o=", "jfTXjwtBXf9mZEKNYMVaGLk2X2o="),
            ("Location", "https://u:p@h/", "https://[redacted]@h/"),
            ("Set-Cookie", "a=b", "[redacted]"), ("ETag", "\"abc==\"", "\"abc==\""),
            ("Cache-Control", "max-age=5", nil),
        ] as [(String, String, String?)])
    func fields(_ name: String, _ value: String, _ shown: String?) {
        #expect(SecretFields.redact(name: name, value: value) == shown ?? value)
    }

    @Test(
        "parameters with a secret",
        arguments: [
            "PHPSESSID", "sessid", "passcode", "ticket", "SAMLResponse", "SAMLart", "totp", "otp", "mfa", "mfa_code",
            "mfaCode", "pw", "psw", "user_pw", "hmac", "privkey", "x-otp", "X_Pin", "2fa", "serviceTicket", "otp%5B%5D",
        ])
    func secretParameters(_ name: String) {
        #expect(
            SecretText.hiding(in: "https://h/?a=1&\(name)=v&b=2", as: .address)
                == "https://h/?a=1&\(name)=[redacted]&b=2")
    }

    @Test(
        "fields with a secret",
        arguments: [
            "X-Otp", "X-Pin", "X-Bearer", "X-Passcode", "X-MFA-Code", "X-SSO-Ticket", "X-Ticket", "DPoP", "PHPSESSID",
            "SAMLResponse", "X-Auth", "X-Sid", "X-Hmac-Sha256", "X-TOTP", "Otp",
        ])
    func secretFields(_ name: String) {
        #expect(SecretFields.redact(name: name, value: "v") == "[redacted]")
    }

    @Test(
        "fields and parameters without",
        arguments: [
            "X-Shipping", "X-Footprint", "Opinion", "X-Compass", "spin", "author", "X-Ticketing-System", "pwa",
            "X-Side",
        ])
    func otherNames(_ name: String) {
        #expect(SecretFields.redact(name: name, value: "v") == "v")
        #expect(SecretText.hiding(in: "https://h/?\(name)=v", as: .address) == "https://h/?\(name)=v")
    }
}
