import LoadingSemantics
import Testing

/// Parsing of `ftp:` URLs.
@Suite struct FTPURLTests {
    private func summary(_ url: FTPURL) -> String {
        let words = url.directories.map { String(decoding: $0, as: UTF8.self) }
        let type = ["I", "A", "D"][Int(url.type.rawValue)]
        return (words.map { "<\($0)>" } + [String(decoding: url.name, as: UTF8.self), type]).joined(separator: " ")
    }

    // MISC-17: RFC 1738 §3.2
    @Test(
        "paths",
        arguments: [
            ("ftp://h", " I"), ("ftp://h/", " I"), ("ftp://h/a", "a I"), ("FTP://h/a/b/c", "<a> <b> c I"),
            ("ftp://h/a/b/", "<a> <b>  I"), ("ftp://h/%2Fetc/motd", "</etc> motd I"),
            ("ftp://h//etc/motd", "</> <etc> motd I"), ("ftp://h//", "</>  I"), ("ftp://h/a//b", "<a> b I"),
            ("ftp://h/a%20b;c", "a b;c I"), ("ftp://h/%C3%BC", "ü I"), ("ftp://h/ü", "ü I"),
            ("ftp://h/a;type=a", "a A"), ("ftp://h/a;TYPE=I", "a I"), ("ftp://h/a/b;type=d", "<a> <b>  D"),
            ("ftp://h/a/;type=d", "<a>  D"), ("ftp://h/;type=d", " D"), ("ftp://h/a;type=x", "a;type=x I"),
            ("ftp://h/a;type=", "a;type= I"), ("ftp://h/a%3Btype=a", "a;type=a I"), ("ftp://h/a?b#c", "a I"),
            ("ftp://h/a%3Fb", "a?b I"), ("ftp://h/../a", "<..> a I"),
        ])
    func paths(text: String, expected: String) throws {
        #expect(summary(try FTPURL(text)) == expected)
    }

    // MISC-17
    @Test(
        "hosts and ports",
        arguments: [
            ("ftp://H.Example/", "h.example", 21), ("ftp://h:80/", "h", 80), ("ftp://h:/", "h", 21),
            ("ftp://[::1]:2121/x", "::1", 2121), ("ftp://u:p@h:22/", "h", 22),
            ("ftp://bücher.example/", "xn--bcher-kva.example", 21),
        ] as [(String, String, UInt16)])
    func hostsAndPorts(text: String, host: String, port: UInt16) throws {
        let url = try FTPURL(text)
        #expect(url.host == host)
        #expect(url.port == port)
    }

    // MISC-17
    @Test(
        "users",
        arguments: [
            ("ftp://h/", nil, nil), ("ftp://@h/", nil, nil), ("ftp://:p@h/", nil, nil), ("ftp://u@h/", "u", nil),
            ("ftp://u:@h/", "u", ""), ("ftp://u:p%40:q@h/", "u", "p@:q"), ("ftp://a%40b:p@h/", "a@b", "p"),
        ] as [(String, String?, String?)])
    func users(text: String, user: String?, password: String?) throws {
        let url = try FTPURL(text)
        #expect(url.credential?.user == user)
        #expect(url.credential?.password == password)
    }

    // MISC-17, ERR-5: nothing in a URL becomes a command of its own
    @Test(
        "URLs that cannot be loaded",
        arguments: [
            ("ftp://h/a%0D%0ADELE%20b", .badCharacter), ("ftp://h/a%0Ab", .badCharacter),
            ("ftp://h/a%00b", .badCharacter),
            ("ftp://h/a%0d/b", .badCharacter), ("ftp://u%0D%0A:p@h/", .badCharacter),
            ("ftp://u:p%0A@h/", .badCharacter),
            ("ftp://u%00@h/", .badCharacter), ("ftp://h/%", .badCharacter), ("ftp://h/%4", .badCharacter),
            ("ftp://h/a b", .badCharacter), ("ftp://h/a\nb", .badCharacter), ("ftp:///a", .noHost), ("ftp://", .noHost),
            ("ftp://h:0/", .badPort), ("ftp://h:65536/", .badPort), ("ftp:/a", .unsupportedScheme),
            ("ftps://h/", .unsupportedScheme), ("http://h/", .unsupportedScheme), ("", .unsupportedScheme),
            ("ftp", .unsupportedScheme),
        ] as [(String, HTTPURL.Failure)])
    func urlsThatCannotBeLoaded(text: String, failure: HTTPURL.Failure) {
        #expect(throws: failure) { try FTPURL(text) }
    }
}
