import LoadingSemantics
import Testing

@Suite struct SuggestedFilenameTests {
    // MISC-12
    @Test(
        arguments: [
            ("attachment; filename=\"fname.ext\"", "fname.ext"),
            ("attachment; filename=genome.jpeg; modification-date=\"Wed, 12 Feb 1997 16:29:51 -0500\";", "genome.jpeg"),
            ("attachment; filename=\";.ext\"", ";.ext"),
            ("attachment; aa=bb\\; filename=\"wrong.ext\"; filename=\"fname.ext\"; cc=dd", "fname.ext"),
            ("attachment; filename=\"/a/b/name\"", "_a_b_name"),
            ("attachment; filename=\"a/../b/name\"", "a_.._b_name"),
            ("attachment; FILENAME = \"a \\\"b\\\".txt\"", "a \"b\".txt"),
            ("attachment; filename=two words.txt ; x", "two words.txt"),
            ("attachment; filename=\"a\u{1}b\r\n\u{0}.txt\"", "ab.txt"),
            ("inline", nil), ("", nil), ("attachment; filename=", nil), ("attachment; filename=\"..\"", nil),
            ("attachment; filename=\".\"", nil), ("filename=x", nil),
        ] as [(String, String?)])
    func filenames(value: String, name: String?) {
        #expect(ContentDisposition.filename(in: value) == name)
    }

    // MISC-12: the name is valid, not disguised, and does not hide the file
    @Test(
        arguments: [
            (".bashrc", "_bashrc"), ("..bashrc", "__bashrc"), ("../../etc/passwd", "___.._etc_passwd"),
            ("...", nil), (". . .", nil), (" ", nil), ("name.", "name"), ("name. . ", "name"), ("  name ", "name"),
            (" .name", "_name"), ("a\u{202E}gpj.exe", "agpj.exe"), ("\u{202E}.a", "_a"),
            ("\u{2066}a\u{2069}\u{200F}\u{200E}\u{61C}.txt", "a.txt"), ("\u{FEFF}a\u{200B}\u{2060}\u{AD}.txt", "a.txt"),
            ("a\u{85}\u{9F}\u{2028}\u{2029}b", "ab"), ("\u{E0001}a", "a"), ("\u{202E}", nil),
            ("a\u{7F}b\0c\td", "abcd"),
            // Joiners are kept.
            ("\u{645}\u{6CC}\u{200C}\u{62E}", "\u{645}\u{6CC}\u{200C}\u{62E}"), ("👩\u{200D}👧.png", "👩\u{200D}👧.png"),
            ("❤\u{FE0F}.png", "❤\u{FE0F}.png"), ("1\u{FE0F}\u{20E3}.txt", "1\u{FE0F}\u{20E3}.txt"),
            ("❤\u{FE0F}\u{200D}🔥.png", "❤\u{FE0F}\u{200D}🔥.png"),
            // Others, and those without a character before, are not displayed.
            ("\u{FE0F}.bashrc", "_bashrc"), ("\u{200D}.bashrc", "_bashrc"), ("\u{E0100}.a", "_a"),
            ("\u{34F}.a", "_a"), ("\u{3164}.a", "_a"), ("\u{115F}\u{1160}\u{FFA0}.a", "_a"), ("\u{180B}.a", "_a"),
            ("\u{17B4}.a", "_a"), ("\u{2065}.a", "_a"), ("a.\u{FE0F}exe", "a.exe"), ("a.e\u{FE0F}xe", "a.exe"),
            ("❤\u{FE0F}\u{FE0F}\u{FE0F}.a", "❤\u{FE0F}.a"), ("_\u{200D}\u{200D}.a", "_.a"),
            // Nor is other white space, nor the empty Braille pattern.
            ("\u{A0}.a", "_a"), ("\u{3000}\u{2800} .a", "_a"), ("a.txt\u{2003}", "a.txt"),
            ("a b\u{301}.txt", "a b\u{301}.txt"), ("~", "~"), ("a\\\\b", "a\\b"),
        ] as [(String, String?)])
    func safeNames(given: String, name: String?) {
        #expect(ContentDisposition.filename(in: "attachment; filename=\"\(given)\"") == name)
        if !given.contains("\\") {
            let path = SuggestedFilename.name(contentDisposition: nil, lastPathComponent: given, mimeType: nil)
            #expect(path == name ?? "Unknown")
        }
    }

    // MISC-12: within the limit of file systems
    @Test(
        arguments: [
            (String(repeating: "a", count: 255), String(repeating: "a", count: 255)),
            (String(repeating: "a", count: 256), String(repeating: "a", count: 255)),
            (String(repeating: "a", count: 300) + ".txt", String(repeating: "a", count: 251) + ".txt"),
            (String(repeating: "ä", count: 200) + ".txt", String(repeating: "ä", count: 125) + ".txt"),
            (String(repeating: "👩‍👩‍👧", count: 40) + ".gz", String(repeating: "👩‍👩‍👧", count: 14) + ".gz"),
            ("a." + String(repeating: "b", count: 300), "a." + String(repeating: "b", count: 253)),
            // Truncation leaves no trailing space or dot.
            (
                String(repeating: "a", count: 252) + ". .b" + String(repeating: "c", count: 40),
                String(repeating: "a", count: 252)
            ),
            (String(repeating: "a", count: 254) + " word", String(repeating: "a", count: 254)),
            (
                "e" + String(repeating: "\u{301}", count: 300) + ".x",
                "e" + String(repeating: "\u{301}", count: 126) + ".x"
            ),
        ])
    func longNames(given: String, name: String) {
        let suggested = SuggestedFilename.name(
            contentDisposition: "attachment; filename=\"\(given)\"", lastPathComponent: nil, mimeType: nil)
        #expect(suggested == name)
        #expect(suggested.utf8.count <= 255)
    }

    @Test func addedExtensionFitsLengthLimit() {
        let name = SuggestedFilename.name(
            contentDisposition: nil, lastPathComponent: String(repeating: "a", count: 255), mimeType: "text/html")
        #expect(name == String(repeating: "a", count: 250) + ".html")
    }

    // MISC-12: RFC 8187, preferred at any position.
    @Test(arguments: [
        ("attachment; filename=\"EURO.txt\"; filename*=utf-8''%e2%82%ac%20rates.txt", "€ rates.txt"),
        ("attachment; filename*=UTF-8'en'a%2Fb; filename=plain", "a_b"),
        ("attachment; filename*=ISO-8859-1''%A3.txt", "£.txt"),
        ("attachment; filename*=utf-8''%ff; filename=plain", "plain"),
        ("attachment; filename*=utf-8''%e2%8; filename=plain", "plain"),
        ("attachment; filename*=koi8-r''%c1; filename=plain", "plain"),
        ("attachment; filename*=broken; filename=plain", "plain"),
        ("attachment; filename*=utf-8''; filename=plain", "plain"),
    ])
    func extendedFilenames(value: String, name: String) {
        #expect(ContentDisposition.filename(in: value) == name)
    }

    // MISC-12
    @Test(
        arguments: [
            (nil, "name.extension", "text/plain", "name.extension"), (nil, "page", "text/html", "page.html"),
            (nil, "page", nil, "page"), (nil, "data", "application/octet-stream", "data"), (nil, "/", nil, "Unknown"),
            (nil, nil, nil, "Unknown"), ("inline", "", nil, "Unknown"), (nil, "/", "application/pdf", "Unknown.pdf"),
            ("inline", "a.txt", nil, "a.txt"), ("attachment; filename=given", "other", "text/html", "given"),
            (nil, "a/b", nil, "a_b"), (nil, "..", nil, "Unknown"),
        ] as [(String?, String?, String?, String)])
    func fallsBack(disposition: String?, last: String?, mimeType: String?, name: String) {
        #expect(
            SuggestedFilename.name(contentDisposition: disposition, lastPathComponent: last, mimeType: mimeType)
                == name)
    }

    // MISC-14
    @Test(arguments: [
        (200, "no error"), (404, "not found"), (418, "client error"), (599, "server error"), (299, "success"),
        (103, "informational"), (399, "redirected"), (999, "unknown"), (-1, "unknown"),
    ])
    func statusTexts(code: Int, text: String) {
        #expect(StatusText.text(forStatusCode: code) == text)
    }
}
