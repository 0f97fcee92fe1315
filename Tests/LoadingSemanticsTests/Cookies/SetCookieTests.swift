import LoadingSemantics
import Testing

// COOK-11, COOK-20: RFC 6265bis §5.6
@Suite struct SetCookieTests {
    private func read(_ field: String) -> SetCookie? { try? SetCookie(field) }

    private func refusal(_ field: String) -> CookieRefusal? {
        do throws(CookieRefusal) {
            _ = try SetCookie(field)
            return nil
        } catch {
            return error
        }
    }

    // Steps 2 to 4
    @Test(
        "Name and value end at the first semicolon, and are separated at the first equals sign",
        arguments: [
            ("SID=31d4d96e407aad42", "SID", "31d4d96e407aad42"), ("lang=en-US; Path=/", "lang", "en-US"),
            ("a=b=c==", "a", "b=c=="), (" \t a \t = \t b \t ; x", "a", "b"), ("a=", "a", ""),
            ("a b=c d", "a b", "c d"), ("a=\"b; c\"", "a", "\"b"),
            ("a=\"b\"", "a", "\"b\""), ("a=b,c=d", "a", "b,c=d"), ("a=b;;;", "a", "b"), ("a=\tb\tc", "a", "b\tc"),
            ("ä=ü", "ä", "ü"), ("a={\"k\":\"v\"}", "a", "{\"k\":\"v\"}"), ("a=b;c=d;e", "a", "b"),
            ("\u{A0}a=b", "\u{A0}a", "b"), ("Path=/; Secure", "Path", "/"),
        ])
    func namesAndValues(field: String, name: String, value: String) {
        #expect(read(field)?.name == name)
        #expect(read(field)?.value == value)
    }

    // COOK-1, COOK-11; step 1
    @Test(
        "Cookies without a name or with control characters are rejected",
        arguments: [
            ("", .missingName), ("=", .missingName), (" ", .missingName), ("\t=\t; Path=/", .missingName),
            (";a=b", .missingName),
            ("; ; ;", .missingName), ("a", .missingName), ("=a", .missingName), ("==a", .missingName),
            ("secure", .missingName),
            (" \t=a; Path=/", .missingName), ("a; b=c", .missingName), ("__Host-a", .missingName),
            ("a=b\0", .badCharacter), ("a=b\r\nX: y", .badCharacter), ("a=b\n", .badCharacter),
            ("a\u{7F}=b", .badCharacter),
            ("a=b; Path=/\u{1}", .badCharacter), ("\u{1F}", .badCharacter), ("a\n", .badCharacter),
            ("a=b; x\u{B}y", .badCharacter),
        ] as [(String, CookieRefusal)])
    func nothing(field: String, expected: CookieRefusal) {
        #expect(refusal(field) == expected)
    }

    // Step 5
    @Test("Name and value have 4096 octets at most, without the equals sign")
    func pairLength() {
        let name = String(repeating: "n", count: 96)
        #expect(read("\(name)=\(String(repeating: "v", count: 4000))")?.value.count == 4000)
        #expect(refusal("\(name)=\(String(repeating: "v", count: 4001))") == .tooLong)
        #expect(read(String(repeating: "n", count: 4096) + "=") != nil)
        #expect(refusal(String(repeating: "n", count: 4097) + "=") == .tooLong)
        #expect(refusal("\(name)=\(String(repeating: "ü", count: 2001))") == .tooLong)
        // Trimmed white space does not count, and attributes have their own limit.
        #expect(read("a=b" + String(repeating: " ", count: 9000)) != nil)
        #expect(read("a=b" + String(repeating: "; Version=1", count: 9000)) != nil)
    }

    // Attributes, step 6
    @Test("An attribute of more than 1024 octets is ignored")
    func attributeLength() {
        let path = "/" + String(repeating: "p", count: 1023)
        #expect(read("a=b; Path=\(path)")?.path == path)
        #expect(read("a=b; Path=\(path)p")?.path == nil)
        #expect(read("a=b; Path=/x; Path=\(path)p")?.path == "/x")
        #expect(read("a=b; Domain=\(path)p; Secure=\(path)p")?.domain == nil)
        #expect(read("a=b; Secure=\(path)p")?.isSecure == false)
    }

    // §5.6.1
    @Test("The last valid Expires applies")
    func expires() {
        #expect(read("a=b; Expires=Thu, 01 Jan 1970 00:01:40 GMT")?.expires == 100)
        #expect(read("a=b; EXPIRES = Thu, 01 Jan 1970 00:01:40 GMT ;")?.expires == 100)
        #expect(read("a=b; Expires=1 Jan 70 0:0:1; Expires=1 Jan 70 0:0:2; Expires=soon")?.expires == 2)
        #expect(read("a=b; Expires")?.expires == nil)
    }

    // §5.6.2
    @Test(
        "Max-Age consists of digits with an optional minus",
        arguments: [
            ("100", 100), ("0", 0), ("-1", -1), ("-0", 0), ("007", 7), ("99999999999999999999999", .max),
            ("-99999999999999999999999", .min), ("9223372036854775807", .max), (" 5 ", 5), ("", nil), ("-", nil),
            ("+5", nil), ("5s", nil), ("5.0", nil), ("--5", nil), ("1e3", nil), ("٥", nil), ("5 5", nil),
            ("\"5\"", nil),
        ] as [(String, Int64?)])
    func maximumAge(value: String, seconds: Int64?) {
        #expect(read("a=b; max-age=\(value)")?.maximumAge == seconds)
        #expect(read("a=b; Max-Age=3; max-age=\(value)")?.maximumAge == seconds ?? 3)
    }

    // §5.6.3
    @Test(
        "A domain loses one leading dot and is lowercased",
        arguments: [
            ("Domain=EXAMPLE.com", "example.com"), ("domain=.Example.com", "example.com"),
            ("Domain=..example.com", ".example.com"), ("Domain=", ""), ("Domain", ""), ("Domain=.", ""),
            ("Domain=a; Domain=b", "b"), ("Domain=a; Domain=", ""), ("Domain=.\u{301}x", "\u{301}x"), ("Path=/", nil),
        ] as [(String, String?)])
    func domains(attribute: String, domain: String?) {
        #expect(read("a=b; \(attribute)")?.domain == domain)
    }

    // COOK-12, §5.6.4
    @Test(
        "A path without a leading slash means the default path",
        arguments: [
            ("Path=/x/y", "/x/y"), ("PATH=/", "/"), ("Path=x", ""), ("Path=", ""), ("Path", ""),
            ("Path=/a; Path=b", ""),
            ("Path=\"/a\"", ""), ("Path=/a b?c=d", "/a b?c=d"), ("Secure", nil),
        ] as [(String, String?)])
    func paths(attribute: String, path: String?) {
        #expect(read("a=b; \(attribute)")?.path == path)
    }

    // §5.6.5, §5.6.6
    @Test(
        "The value of a flag attribute is ignored",
        arguments: [
            ("Secure", true, false, false), ("secure=0; HTTPONLY=no", true, true, false),
            ("SecureX; Http Only", false, false, false),
            (" Partitioned ;Secure=; HttpOnly =", true, true, true), ("=Secure", false, false, false),
        ])
    func flags(attributes: String, isSecure: Bool, isHTTPOnly: Bool, isPartitioned: Bool) throws {
        let cookie = try SetCookie("a=b;\(attributes)")
        #expect(cookie.isSecure == isSecure)
        #expect(cookie.isHTTPOnly == isHTTPOnly)
        #expect(cookie.isPartitioned == isPartitioned)
    }

    // COOK-7, §5.6.7
    @Test(
        "The last SameSite applies; an unknown value counts as absent",
        arguments: [
            ("SameSite=Lax", .lax), ("samesite=STRICT", .strict), ("SameSite=none", .none), ("SameSite", .unspecified),
            ("SameSite=Strict; SameSite=later", .unspecified), ("SameSite=x; SameSite=Lax", .lax),
            ("Secure", .unspecified),
        ] as [(String, CookieSameSite)])
    func sameSite(attribute: String, expected: CookieSameSite) {
        #expect(read("a=b; \(attribute)")?.sameSite == expected)
    }

    // COOK-10
    @Test(
        "Combined fields are split where a cookie starts",
        arguments: [
            ("a=b", ["a=b"]), ("a=b,c=d", ["a=b", "c=d"]), ("a=b, c = d", ["a=b", " c = d"]), ("", [""]), (",", [","]),
            (
                "a=b; Expires=Wed, 01 Jan 2020 12:30:00 GMT, c=d",
                ["a=b; Expires=Wed, 01 Jan 2020 12:30:00 GMT", " c=d"]
            ),
            ("a=b; Comment=x, y z=1, q", ["a=b; Comment=x, y z=1, q"]), ("a=1,\n b=2", ["a=1", "\n b=2"]),
            ("a=1,b;c=2", ["a=1,b;c=2"]), ("a=1,,b=2", ["a=1,", "b=2"]), ("a=1,=2", ["a=1,=2"]),
            ("foo, =2", ["foo", " =2"]), ("a=1, =2, b=3", ["a=1", " =2", " b=3"]),
            ("a=ü,é=1", ["a=ü,é=1"]),
            ("a=1, b@c=2", ["a=1, b@c=2"]),
        ])
    func joined(field: String, parts: [String]) {
        #expect(CombinedSetCookies.split(field).map(String.init) == parts)
    }
}
