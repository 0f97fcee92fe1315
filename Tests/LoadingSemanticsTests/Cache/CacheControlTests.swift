import LoadingSemantics
import Testing

@Suite struct CacheControlTests {
    private func control(_ lines: String...) -> CacheControl {
        CacheControl(HTTPFields(lines.map { ("Cache-Control", $0) }))
    }

    // CACHE-17: RFC 9111 §1.2.2, §5.2
    @Test(arguments: [
        ("max-age=60", 60), ("MAX-AGE=60", 60), (#"max-age="60""#, 60), (#"max-age="\6\0""#, 60),
        (#"max-age="\60""#, 60),
        ("max-age=0", 0), ("max-age=007", 7), (" ,, max-age=60 ,\t", 60), ("max-age=60 , public", 60),
        ("public, max-age=60", 60),
        ("max-age=60,max-age=5", 60), ("public,max-age=60", 60), ("public,,max-age=60", 60), (",max-age=60", 60),
        // Values above 31 bits are capped, regardless of the number of digits.
        ("max-age=2147483647", 2_147_483_647), ("max-age=2147483648", 2_147_483_648),
        ("max-age=2147483649", 2_147_483_648), ("max-age=99999999999999999999999999999999", 2_147_483_648),
        // A malformed value means stale: §4.2.1.
        ("max-age", 0), ("max-age=", 0), ("max-age=-1", 0), ("max-age=+1", 0), ("max-age=1.5", 0), ("max-age=1s", 0),
        ("max-age=abc, max-age=60", 0), ("max-age = 60", 0), ("max-age= 60", 0), ("max-age=60 s", 0),
        (#"max-age="60"#, 0), (#"max-age="60"0"#, 0), ("max-age=' 60'", 0), ("max-age=60;public", 0),
        ("max-age=٦٠", 0), (#"max-age="""#, 0),
    ])
    func lifetimes(value: String, seconds: Int64) {
        #expect(control(value).maxAge == seconds)
    }

    // RFC 9111 §5.2.3: unknown directives are ignored and do not hide others.
    @Test(arguments: [
        "", ",", "maxage=60", "max-age-x=60", "x-max-age=60", #"x="max-age=60""#, #"x="a, max-age=60, b""#,
        #"x="a\", max-age=60""#, "s-maxage=60", "stale-while-revalidate=60", "stale-if-error=60", "=60",
        "\"max-age=60\"",
        "no-transform", "proxy-revalidate",
    ])
    func directivesWithoutEffect(value: String) {
        #expect(control(value) == CacheControl())
    }

    // CACHE-32
    @Test func staleExtensionsAreIgnored() {
        #expect(control("max-age=5, stale-while-revalidate=60, stale-if-error=60") == control("max-age=5"))
    }

    // CACHE-6, CACHE-7
    @Test func flags() {
        #expect(control("no-store").noStore)
        #expect(control("No-Cache").noCache)
        #expect(control("public").isPublic)
        #expect(control("private").isPrivate)
        #expect(control("must-revalidate").mustRevalidate)
        #expect(control("must-understand").mustUnderstand)
        #expect(control("immutable").isImmutable)
        #expect(control("only-if-cached").onlyIfCached)
    }

    // RFC 9111 §5.2.2.4, RFC 8246 §2: flags with arguments count as flags.
    @Test(arguments: [
        #"no-cache="Set-Cookie""#, "no-cache=Set-Cookie", "no-cache=", #"no-cache="x"#, "no-cache x", "no-cache;x=1",
        #"no-cache="a, b", x"#, "no-cache,no-cache",
    ])
    func flagsWithArguments(value: String) {
        var expected = control("no-cache")
        #expect(control(value) == expected)
        expected = control("no-store")
        #expect(control(value.replacing("no-cache", with: "no-store")) == expected)
    }

    // RFC 9110 §5.6.4: an unterminated quoted string affects one item only.
    @Test func malformedDirectivesDoNotHideOthers() {
        #expect(control(#"x="a, no-store"#).noStore)
        #expect(control(#"private="a, no-store, max-age=5"#).maxAge == 5)
        #expect(control(#"x="a"#, "no-store").noStore)
        #expect(control(#"x="a"#, #"y="no-store"#) == CacheControl())
        #expect(!control(#"x="a, no-store, b""#).noStore)
    }

    // RFC 9110 §5.3
    @Test func linesAreOneList() {
        #expect(control("max-age=5", "no-cache, max-age=9") == control("max-age=5, no-cache"))
    }

    // RFC 9111 §5.2.1
    @Test(arguments: [
        ("max-stale", CacheControl.Staleness.any), ("max-stale=60", .atMost(60)), ("max-stale=\"60\"", .atMost(60)),
        ("max-stale=9999999999", .atMost(2_147_483_648)), ("max-stale=x", nil), ("max-stale=", nil),
        ("max-stale=-1", nil), ("max-stale=x, max-stale=5", nil), ("max-stale=5, max-stale", .atMost(5)),
        ("max-stale 5", nil), ("max-age=1", nil),
    ])
    func staleness(value: String, expected: CacheControl.Staleness?) {
        #expect(control(value).maxStale == expected)
    }

    @Test(arguments: [
        ("min-fresh=60", 60), ("min-fresh=9999999999", 2_147_483_648), ("min-fresh=x", Int64.max),
        ("min-fresh", .max), ("max-age=1", nil),
    ])
    func freshnessToCome(value: String, expected: Int64?) {
        #expect(control(value).minFresh == expected)
    }
}
