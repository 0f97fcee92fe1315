import LoadingSemantics
import Testing

@Suite struct CacheInvalidationTests {
    private func keys(
        _ method: String, _ status: Int = 200, _ fields: [(String, String)] = [],
        url: String = "https://a.example/x/y?q"
    ) throws -> [String] {
        CacheInvalidation.keys(
            method: method, url: try HTTPURL(url), status: status, fields: HTTPFields(fields)
        ).map(\.text)
    }

    // CACHE-19: RFC 9111 §4.4
    @Test(arguments: [
        ("POST", true), ("PUT", true), ("DELETE", true), ("PATCH", true), ("MKCOL", true), ("get", true),
        ("GET", false), ("HEAD", false), ("OPTIONS", false), ("TRACE", false),
    ])
    func methods(method: String, removes: Bool) throws {
        #expect(try keys(method) == (removes ? ["https://a.example/x/y?q"] : []))
    }

    // CACHE-19: only successful requests invalidate.
    @Test func statuses() throws {
        let removing = try (100...599).filter { try !keys("POST", $0).isEmpty }
        #expect(removing == Array(200...399))
    }

    // CACHE-19: RFC 9111 §4.4. URLs of other origins are not invalidated.
    @Test(arguments: [
        ("/z", ["https://a.example/z"]), ("z#f", ["https://a.example/x/z"]),
        ("https://A.EXAMPLE:443/z", ["https://a.example/z"]), ("?r", ["https://a.example/x/y?r"]),
        ("https://me:pw@a.example/z", ["https://a.example/z"]),
        ("?q", []), ("", []), ("http://a.example/z", []), ("https://a.example:444/z", []), ("https://b.example/z", []),
        ("//b.example/z", []), ("wss://a.example/z", []), ("data:,x", []), ("http://", []), ("/z\u{1}", []),
    ])
    func namedAddresses(value: String, more: [String]) throws {
        let own = "https://a.example/x/y?q"
        #expect(try keys("POST", 201, [("Location", value)]) == [own] + more)
        #expect(try keys("POST", 200, [("content-location", value)]) == [own] + more)
    }

    @Test func bothLocationFieldsWithoutDuplicates() throws {
        let fields = [("Location", "/1"), ("Content-Location", "/2")]
        #expect(
            try keys("PUT", 201, fields)
                == ["https://a.example/x/y?q", "https://a.example/1", "https://a.example/2"])
        #expect(try keys("PUT", 201, [("Location", "/1"), ("Content-Location", "/1#f")]).count == 2)
    }

    // CACHE-1, CACHE-19: what distinguishes stored responses
    @Test(arguments: [
        ("http://A.example", "http://a.example/"), ("HTTP://a.example:80/x#f", "http://a.example/x"),
        ("https://u:p@a.example/x?q#f", "https://a.example/x?q"), ("http://a.example:8080/", "http://a.example:8080/"),
        ("http://a.example/%41", "http://a.example/%41"), ("http://bücher.example/", "http://xn--bcher-kva.example/"),
    ])
    func keysOfAddresses(url: String, text: String) throws {
        let parsed = try HTTPURL(url)
        #expect(CacheKey(url: parsed)?.text == text)
        #expect(CacheKey(url: parsed, partition: "p")?.text == text + " p")
        #expect(CacheKey.exists(method: "GET", url: parsed))
        #expect(!CacheKey.exists(method: "HEAD", url: parsed))
    }

    // CACHE-1
    @Test func onlyHTTPHasKeys() throws {
        #expect(CacheKey(url: try HTTPURL("ws://a.example/")) == nil)
        #expect(!CacheKey.exists(method: "GET", url: try HTTPURL("ws://a.example/")))
        #expect(try keys("POST", url: "wss://a.example/") == [])
    }
}
