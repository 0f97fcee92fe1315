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

    // MISC-12: RFC 8187, preferred wherever it stands.
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
