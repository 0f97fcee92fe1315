import Testing

@testable import LoadingSemantics

@Suite struct URLReferenceTests {
    private func resolve(_ reference: String, _ base: String) -> String {
        let resolved = URLReference(Array(reference.utf8)).resolved(against: URLReference(Array(base.utf8)))
        return String(decoding: resolved.bytes, as: UTF8.self)
    }

    // RFC 3986 §5.4
    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"), ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"),
        (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("g;x?y#s", "http://a/b/c/g;x?y#s"),
        ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"), ("..", "http://a/b/"),
        ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
        ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"), ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"),
        ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"),
        ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g?y/../x", "http://a/b/c/g?y/../x"),
        ("g#s/./x", "http://a/b/c/g#s/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
    ])
    func examplesOfTheStandard(reference: String, url: String) {
        #expect(resolve(reference, "http://a/b/c/d;p?q") == url)
    }

    //
    @Test func cornersOfPaths() {
        #expect(resolve("g", "http://a") == "http://a/g")
        #expect(resolve("?x", "http://a") == "http://a?x")
        #expect(resolve("a//../b", "http://a/") == "http://a/a/b")
        #expect(resolve("/a/b//", "http://a/") == "http://a/a/b//")
        #expect(resolve("g?", "http://a/?q#f") == "http://a/g?")
        #expect(resolve("1:2", "http://a/x") == "http://a/1:2")
        #expect(resolve("%7e/%41?%zz", "http://a/x/y") == "http://a/x/%7e/%41?%zz")
    }
}
