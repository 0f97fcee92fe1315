import Foundation
import Testing

@testable import URLLoading

@Suite struct HTTPCookieTests {
    let origin = URL(string: "https://apple.com")!

    private func cookies(_ field: String, for address: String = "https://example.com") throws -> [HTTPCookie] {
        HTTPCookie.cookies(
            withResponseHeaderFields: ["Set-Cookie": field, "Other": "x=y"], for: try #require(URL(string: address)))
    }

    // COOK-1
    @Test func needsNameValuePathAndDomainOrOrigin() {
        let complete: [HTTPCookiePropertyKey: Any] = [.name: "n", .value: "v", .path: "/", .domain: "example.com"]
        #expect(HTTPCookie(properties: complete)?.domain == "example.com")
        for key in complete.keys {
            #expect(HTTPCookie(properties: complete.filter { $0.key != key }) == nil)
        }
        var fromOrigin = complete
        fromOrigin[.domain] = nil
        fromOrigin[.originURL] = origin
        #expect(HTTPCookie(properties: fromOrigin)?.domain == "apple.com")
        #expect(HTTPCookie(properties: [.domain: ".", .path: "/", .name: "nab".dropLast(), .value: "x"])?.name == "na")
        #expect(HTTPCookie(properties: complete.merging([.name: ""]) { $1 }) == nil)
    }

    // COOK-1: programs write `url.host ?? ""`
    @Test func anEmptyDomainIsOfNoHost() throws {
        let properties: [HTTPCookiePropertyKey: Any] = [.name: "n", .value: "v", .path: "/", .domain: ""]
        let cookie = try #require(HTTPCookie(properties: properties))
        #expect(cookie.domain.isEmpty)
        #expect(HTTPCookie(properties: properties.merging([.originURL: origin]) { $1 })?.domain == "apple.com")
        let storage = HTTPCookieStorage()
        storage.setCookie(cookie)
        #expect(storage.cookies(for: origin)?.isEmpty == true)
        storage.setCookies([cookie], for: origin, mainDocumentURL: nil)
        #expect(storage.cookies(for: origin)?.isEmpty == true)
        storage.deleteCookie(cookie)
        #expect(storage.cookies?.isEmpty == true)
    }

    /// No part of a cookie can end the Cookie field or begin another cookie.
    @Test(arguments: ["a\r\nX: y", "a\n", "a\0", "a; b=c"])
    func rejectsInvalidFieldCharacters(_ text: String) {
        #expect(HTTPCookie(properties: [.name: "n", .value: text, .path: "/", .domain: "a"]) == nil)
        #expect(HTTPCookie(properties: [.name: text, .value: "v", .path: "/", .domain: "a"]) == nil)
    }

    // COOK-1: a name that another name would be read from, or none
    @Test(arguments: [" ", "\t", " \t", "a=b", "=", "a=", "a\tb", "a\u{7F}", "\u{1}", "\u{1F}a"])
    func rejectsInvalidNames(_ name: String) {
        #expect(HTTPCookie(properties: [.name: name, .value: "v", .path: "/", .domain: "a"]) == nil)
    }

    @Test(arguments: ["a=b", "", "a b", "a\tb", "ä", "\"q\""]) func acceptsValues(_ value: String) {
        #expect(HTTPCookie(properties: [.name: "n", .value: value, .path: "/", .domain: "a"])?.value == value)
        #expect(HTTPCookie(properties: [.name: "n", .value: value + "\u{7F}", .path: "/", .domain: "a"]) == nil)
    }

    // COOK-8: a mark that means nothing here, and stays: in the cookie, in a storage, and not on the wire
    @Test func marksOfScriptsAreKept() throws {
        #expect(HTTPCookiePropertyKey.setByJavaScript.rawValue == "SetInJavaScript")
        var properties: [HTTPCookiePropertyKey: Any] = [.name: "n", .value: "v", .path: "/", .domain: "example.com"]
        #expect(HTTPCookie(properties: properties)?.properties?[.setByJavaScript] == nil)
        properties[.setByJavaScript] = "1"
        let cookie = try #require(HTTPCookie(properties: properties))
        #expect(cookie.properties?[.setByJavaScript] as? String == "1")
        let storage = HTTPCookieStorage()
        storage.setCookie(cookie)
        #expect(storage.cookies?.first?.properties?[.setByJavaScript] as? String == "1")
        #expect(HTTPCookie.requestHeaderFields(with: [cookie]) == ["Cookie": "n=v"])
        #expect(try cookies("n=v; SetInJavaScript=1").first?.properties?[.setByJavaScript] == nil)
    }

    // COOK-5: any value counts
    @Test func secureWithAnyValue() {
        for value: Any in ["TRUE", "FALSE", "NO", "0", "", false] {
            let properties: [HTTPCookiePropertyKey: Any] = [
                .name: "n", .value: "v", .domain: "a.com", .path: "/", .secure: value,
            ]
            #expect(HTTPCookie(properties: properties)?.isSecure == true, "\(value)")
        }
        #expect(HTTPCookie(properties: [.name: "n", .value: "v", .domain: "a.com", .path: "/"])?.isSecure == false)
    }

    // COOK-2, COOK-3
    @Test func versionZeroIgnoresMaximumAge() throws {
        let cookie = try #require(
            HTTPCookie(properties: [
                .name: "n", .value: "Test value @#$%^$&*", .path: "/", .domain: "apple.com", .originURL: origin,
                .comment: "c", .commentURL: "https://apple.com", .discard: "TRUE",
                .expires: Date(timeIntervalSince1970: 1000), .maximumAge: "2000", .port: "443,8443", .secure: "YES",
            ]))
        #expect(cookie.version == 0)
        #expect(cookie.comment == "c")
        #expect(cookie.commentURL == origin)
        #expect(cookie.isSessionOnly)
        #expect(cookie.expiresDate == nil)
        #expect(cookie.portList == [443])
        #expect(cookie.isSecure)
    }

    @Test func versionOneUsesMaximumAge() throws {
        let cookie = try #require(
            HTTPCookie(properties: [
                .name: "n", .value: "v", .path: "/", .domain: "a.com", .version: "1", .maximumAge: "100",
                .expires: Date(timeIntervalSince1970: 1000), .port: "80, 443,x".filter { $0 != " " },
            ]))
        #expect(cookie.version == 1)
        #expect(!cookie.isSessionOnly)
        #expect(cookie.expiresDate == cookie.created.addingTimeInterval(100))
        #expect(cookie.portList == [80, 443])
        let properties = try #require(cookie.properties)
        #expect(HTTPCookie(properties: properties)?.expiresDate == cookie.expiresDate)
        let session = HTTPCookie(properties: [.name: "n", .value: "v", .path: "/", .domain: "a.com", .version: 1])
        #expect(session?.isSessionOnly == true)
    }

    // COOK-7
    @Test func sameSitePolicies() {
        func policy(_ value: Any) -> HTTPCookieStringPolicy? {
            HTTPCookie(properties: [.name: "n", .value: "v", .path: "/", .domain: "a", .sameSitePolicy: value])?
                .sameSitePolicy
        }
        #expect(policy("Lax") == .sameSiteLax)
        #expect(policy(HTTPCookieStringPolicy.sameSiteStrict) == .sameSiteStrict)
        #expect(policy("None") == nil)
    }

    @Test func propertiesMakeAnEqualCookie() throws {
        let cookie = try #require(
            cookies("a=b; Path=/p; Domain=example.com; Secure; HttpOnly; SameSite=Strict; Max-Age=60").first)
        let properties = try #require(cookie.properties)
        let again = try #require(HTTPCookie(properties: properties))
        #expect(again == cookie)
        #expect(again.hash == cookie.hash)
        #expect(again.isHTTPOnly && again.isSecure && again.sameSitePolicy == .sameSiteStrict)
        #expect(again.expiresDate == cookie.expiresDate)
        #expect(try cookies("a=c").first != cookie)
        #expect(!cookie.description.contains("=b"))
    }

    // COOK-9
    @Test func requestHeaderFields() throws {
        #expect(HTTPCookie.requestHeaderFields(with: []) == [:])
        #expect(HTTPCookie.requestHeaderFields(with: try cookies("a=b, c=d")) == ["Cookie": "a=b; c=d"])
    }

    // COOK-10
    @Test func splitsJoinedFieldsOnlyWhereACookieBegins() throws {
        let two = try cookies(
            "fr=a&2@#; Max-Age=1186000; path=/; domain=.example.com; secure, xd=plm!@#;path=/;domain=.example2.com")
        #expect(two.map(\.name) == ["fr", "xd"])
        #expect(two.map(\.value) == ["a&2@#", "plm!@#"])
        #expect(two.map(\.isSecure) == [true, false])
        let dated = try cookies(
            "AAA =111; path=/; domain=.example.com; expires=Sun, 16-Aug-2125 22:39:54 GMT, BBB=222; "
                + "domain=.example.com; HttpOnly; expires=Sat, 15-Feb-2014 22:39:54 GMT")
        #expect(dated.map(\.name) == ["AAA", "BBB"])
        #expect(dated.map(\.value) == ["111", "222"])
        let commented = try cookies("n=v; Comment=real value, tok@en=second; CommentURL=https://example.com/second")
        #expect(commented.map(\.comment) == ["real value, tok@en=second"])
        #expect(commented.map(\.commentURL) == [URL(string: "https://example.com/second")])
        #expect(try cookies("a=1,\n b=2").map(\.name) == ["a", "b"])
        #expect(try cookies("no cookie here").isEmpty)
        #expect(HTTPCookie.cookies(withResponseHeaderFields: ["set-cookie": "a=b"], for: origin).count == 1)
    }

    // COOK-11
    @Test(arguments: [";attr1=value1", "=value1;attr2=value2", "   =value1;a=b", "name;attr2=value2", ""])
    func nothingWithoutNameAndEqualsSign(_ field: String) throws {
        #expect(try cookies(field).isEmpty)
    }

    // COOK-11
    @Test func attributes() throws {
        let flags = try #require(cookies("name=value;Secure;Comment;Discard;CommentURL;HttpOnly").first)
        #expect(flags.isSecure && flags.isHTTPOnly && flags.isSessionOnly)
        #expect(flags.comment == nil && flags.commentURL == nil)
        let valued = try #require(
            cookies("name=value;Secure=1;Discard=TRUE;HttpOnly=Yes;Max-Age=5").first)
        #expect(!valued.isSecure && !valued.isHTTPOnly && !valued.isSessionOnly)
        let undated = try #require(cookies("name=value;Secure=1;Discard=TRUE;HttpOnly=Yes").first)
        #expect(!undated.isSecure && !undated.isHTTPOnly)
        // Where nothing is said of its end, a cookie ends with the session. An attribute that is ignored says nothing.
        #expect(undated.isSessionOnly && undated.expiresDate == nil)
        #expect(try #require(cookies("name=value").first).isSessionOnly)
        // What a cookie says of its end is kept.
        let kept = try #require(
            HTTPCookie(properties: [.name: "n", .value: "v", .path: "/", .domain: "apple.com", .discard: "FALSE"]))
        #expect(HTTPCookie(properties: try #require(kept.properties)) == kept)
        let storage = HTTPCookieStorage()
        storage.setCookie(kept)
        #expect(storage.cookies?.map(\.isSessionOnly) == [false])
        let nameless = try #require(cookies("name=value;Comment=value1;   =value2;CommentURL=value3").first)
        #expect(nameless.comment == "value1")
        #expect(nameless.commentURL == URL(string: "value3"))
        #expect(try cookies("name=v=a=l=u=e;x=y").map(\.value) == ["v=a=l=u=e"])
        #expect(try cookies("name=value;Path=This/is/not/a/valid/path").map(\.path) == ["/"])
        #expect(try cookies("name=value;Path=/a/b").map(\.path) == ["/a/b"])
    }

    // COOK-4, COOK-12
    @Test(arguments: [
        ("domain=eXample.com", "http://eXample.com", ".example.com"),
        ("domain=.eXample.com", "http://eXample.com", ".example.com"),
        ("domain=a.eXample.com", "http://a.eXample.com", ".a.example.com"),
        ("path=/", "http://a.eXample.com", "a.example.com"),
        ("domain=1.2.3.4", "http://1.2.3.4", "1.2.3.4"),
        ("domain=", "http://example.com/x", "example.com"),
    ])
    func domains(_ attribute: String, _ address: String, _ expected: String) throws {
        #expect(try cookies("n=v; \(attribute)", for: address).map(\.domain) == [expected])
        #expect(try cookies("n=v; \(attribute)", for: address).map(\.path) == ["/"])
    }

    // RFC 6265 §5.1.1
    @Test(arguments: [
        ("Wed, 01 Jan 2020 12:30:00 GMT", 1_577_881_800), ("Wed Jan 1 12:30:00 2020", 1_577_881_800),
        ("Wed, 01-Jan-2020 12:30:00 GMT", 1_577_881_800), ("Wednesday, 01-Jan-20 12:30:00 GMT", 1_577_881_800),
        ("12:30:00 1 January 20", 1_577_881_800), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ("Mon, 01-Jan-70 0:0:1 GMT", 1), ("Mon, 01 Jan 1601 00:00:00 GMT", -11_644_473_600),
    ])
    func dates(_ text: String, _ seconds: Int) throws {
        #expect(try cookies("a=b; Expires=\(text)").first?.expiresDate == Date(timeIntervalSince1970: Double(seconds)))
    }

    @Test(arguments: [
        "", "yesterday", "Wed, 01 Jan 2020", "01 Jan 12:30:00", "Wed, 32 Jan 2020 12:30:00", "01 Jan 2020 24:00:00",
        "01 Jan 1600 00:00:00", "01 Foo 2020 00:00:00", "01 Jan 20200 00:00:00", "99999999999999999999 Jan 2020 1:1:1",
    ])
    func noDates(_ text: String) throws {
        let cookie = try #require(cookies("a=b; Expires=\(text)").first)
        #expect(cookie.expiresDate == nil)
    }

    // RFC 6265 §5.2.2: digits, as many as there are, with an optional "-"
    @Test(arguments: [
        ("-99999999999999999999", "past"), ("99999999999999999999", "future"), ("-0", "past"), ("0", "past"),
        ("+5", "none"), ("5s", "none"), ("-", "none"), ("--5", "none"), ("", "none"),
    ])
    func anyMaximumAge(_ value: String, _ expected: String) throws {
        let cookie = try #require(cookies("a=b; Max-Age=\(value)").first)
        let isPast = cookie.expiresDate.map { $0.timeIntervalSinceNow <= 0 }
        #expect((isPast.map { $0 ? "past" : "future" } ?? "none") == expected)
    }

    // RFC 6265 §5.3: Max-Age beats Expires in either order.
    @Test(arguments: [
        "a=b; Max-Age=100; Expires=Wed, 01 Jan 2020 12:30:00 GMT",
        "a=b; Expires=Wed, 01 Jan 2020 12:30:00 GMT; Max-Age=100",
    ])
    func maximumAgeWins(_ field: String) throws {
        let expires = try #require(cookies(field).first?.expiresDate)
        #expect(expires > Date())
    }

    // COOK-2: what a caller makes up ends no process
    @Test("an invalid expiry is ignored") func timesThatAreNone() throws {
        let none = [Double.nan, .infinity, -.infinity]
        var all: [[HTTPCookiePropertyKey: Any]] = ["nan", "inf", "-inf", "1e400"].map {
            [.version: "1", .maximumAge: $0]
        }
        all += none.map { [.expires: Date(timeIntervalSince1970: $0)] }
        all += none.map { [.version: "1", .maximumAge: NSNumber(value: $0)] }
        all += none.map { [.created: Date(timeIntervalSince1970: $0)] }
        for times in all {
            let properties: [HTTPCookiePropertyKey: Any] = [
                .name: "a", .value: "v", .domain: "example.org", .path: "/",
            ]
            let cookie = try #require(HTTPCookie(properties: properties.merging(times) { $1 }))
            #expect(cookie.isSessionOnly && cookie.expiresDate == nil, "\(times)")
            #expect(cookie.description.contains("a example.org/"))
            #expect(cookie.created.timeIntervalSince1970.isFinite)
            #expect(HTTPCookie(properties: try #require(cookie.properties)) == cookie)
        }
    }

    // COOK-2
    @Test("an invalid expiry of a subclass is ignored") func timesOfSubclasses() throws {
        final class Timeless: HTTPCookie, @unchecked Sendable {
            override var expiresDate: Date? { Date(timeIntervalSince1970: .nan) }
        }
        let cookie = try #require(
            Timeless(properties: [.name: "a", .value: "v", .domain: "example.org", .path: "/"]))
        #expect(cookie.description.contains("a example.org/"))
        let storage = HTTPCookieStorage()
        storage.setCookie(cookie)
        #expect(storage.cookies?.map(\.isSessionOnly) == [true])
        #expect(storage.cookies?.first?.description.contains("expires") == false)
    }
}
