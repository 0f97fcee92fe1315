import LoadingSemantics
import Testing

@Suite struct RequestRulesTests {
    // ENC-1
    @Test func codingsByScheme() {
        #expect(RequestDefaults.acceptEncoding(isSecure: false, decodesBrotli: true) == "gzip, deflate")
        #expect(RequestDefaults.acceptEncoding(isSecure: true, decodesBrotli: true) == "gzip, deflate, br")
        #expect(RequestDefaults.acceptEncoding(isSecure: true, decodesBrotli: false) == "gzip, deflate")
    }

    // MISC-3
    @Test(
        arguments: [
            (["en-US"], "en-US,en;q=0.9"), (["en"], "en"), ([], nil),
            (["en-US", "de"], "en-US,en;q=0.9,de;q=0.8"),
            (["de-AT", "de-DE", "en"], "de-AT,de-DE;q=0.9,de;q=0.8,en;q=0.7"),
            (["fr-CA", "en-US", "fr"], "fr-CA,en-US;q=0.9,en;q=0.8,fr;q=0.7"),
            (["de-DE", "de-DE"], "de-DE,de;q=0.9"), (["", "de\r\nX: y", "de_DE", "en"], "en"),
            (
                ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"],
                "a,b;q=0.9,c;q=0.8,d;q=0.7,e;q=0.6,f;q=0.5,g;q=0.4,h;q=0.3,i;q=0.2,j;q=0.1,k;q=0.1,l;q=0.1"
            ),
        ] as [([String], String?)])
    func languages(preferred: [String], field: String?) {
        #expect(RequestDefaults.acceptLanguage(preferred) == field)
    }

    // MISC-2
    @Test func userAgents() {
        #expect(
            RequestDefaults.userAgent(
                programName: "Mein Programm/ü", programVersion: "1.2 b", libraryVersion: "0.1", kernelVersion: "6.1.0-9"
            )
                == "Mein%20Programm%2F%C3%BC/1.2%20b URLSessionLinux/0.1 Linux/6.1.0-9")
        #expect(
            RequestDefaults.userAgent(
                programName: "tool", programVersion: nil, libraryVersion: "0.1", kernelVersion: "6.1\r\n")
                == "tool (unknown version) URLSessionLinux/0.1 Linux/6.1%0D%0A")
    }

    // MISC-4
    @Test func defaultContentTypeIsForPostWithBody() {
        #expect(
            RequestDefaults.contentType(method: "POST", hasNonEmptyBody: true) == "application/x-www-form-urlencoded")
        #expect(RequestDefaults.contentType(method: "POST", hasNonEmptyBody: false) == nil)
        #expect(RequestDefaults.contentType(method: "PUT", hasNonEmptyBody: true) == nil)
    }

    // MISC-6, PROXY-11
    @Test(
        arguments: [
            ("Host", .ignored), ("CONNECTION", .ignored), ("Transfer-Encoding", .ignored),
            ("WWW-Authenticate", .ignored),
            ("Proxy-Authenticate", .ignored), ("Content-Length", .sentForStreams),
            ("Proxy-Authorization", .sentToProxy),
            ("Authorization", .sent), ("Cookie", .sent), ("X", .sent), ("", .sent), ("Content-Lengths", .sent),
        ] as [(String, ReservedFields.Treatment)])
    func reservedFields(name: String, treatment: ReservedFields.Treatment) {
        #expect(ReservedFields.treatment(of: name) == treatment)
    }

    // MISC-22
    @Test(arguments: [
        ("get", "GET"), ("hEAD", "HEAD"), ("Post", "POST"), ("puT", "PUT"), ("Delete", "DELETE"),
        ("connect", "CONNECT"),
        ("PATCH", "PATCH"), ("patch", "patch"), ("trace", "trace"), ("Options", "Options"), ("custom", "custom"),
        ("Foo", "Foo"), ("", ""),
    ])
    func methods(given: String, sent: String) {
        #expect(RequestMethod.canonical(given) == sent)
    }

    // CONN-10: RFC 9110 §9.2
    @Test func safeAndIdempotentMethods() {
        let methods = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "POST", "PATCH", "CONNECT", "custom", "get"]
        #expect(methods.filter(RequestMethod.isSafe) == ["GET", "HEAD", "OPTIONS", "TRACE"])
        #expect(
            methods.filter(RequestMethod.isIdempotent) == ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"])
    }
}
