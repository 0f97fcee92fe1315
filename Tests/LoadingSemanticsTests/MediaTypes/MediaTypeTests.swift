import LoadingSemantics
import Testing

@Suite struct MediaTypeTests {
    // MISC-10
    @Test(arguments: [
        ("text/html", MediaType(mimeType: "text/html")),
        ("text/HTML; charset=ISO-8859-4", MediaType(mimeType: "text/html", charset: "iso-8859-4")),
        ("text/plAIn;charset=\"UTF-8\"", MediaType(mimeType: "text/plain", charset: "utf-8")),
        (
            " multipart/x; boundary=\"a;charset=b\" ; CHARSET = us-ascii ",
            MediaType(mimeType: "multipart/x", charset: "us-ascii")
        ),
        ("text/plain; charset=utf-8; charset=latin1", MediaType(mimeType: "text/plain", charset: "utf-8")),
        ("text/plain; charset=", MediaType(mimeType: "text/plain")),
        ("text/plain; charset", MediaType(mimeType: "text/plain")),
        ("text/plain;;;", MediaType(mimeType: "text/plain")),
        ("text/plain; charset=\"utf", MediaType(mimeType: "text/plain", charset: "utf")),
        // No charset has such a name.
        ("text/plain; charset=\"u\\\"8\\", MediaType(mimeType: "text/plain")),
        ("text/plain; charset=utf-8\n", MediaType(mimeType: "text/plain")),
        ("text/plain; charset=\"utf-8\r\nX: y\"", MediaType(mimeType: "text/plain")),
        ("text/plain; charset=utf-8 x", MediaType(mimeType: "text/plain")),
        ("text/plain; charset=utf\0-8", MediaType(mimeType: "text/plain")),
        ("text/plain; charset=\"a, b\"", MediaType(mimeType: "text/plain")),
        ("text/plain; charset=<b>", MediaType(mimeType: "text/plain")),
        ("text/plain; charset=ütf-8", MediaType(mimeType: "text/plain")),
        ("text/plain\n; charset=utf-8", nil), ("text/\0plain", nil),
        ("; charset=utf-8", nil), ("", nil), ("  ", nil),
    ])
    func readsTheField(value: String, type: MediaType?) {
        #expect(MediaType(contentType: value) == type)
    }

    // MISC-11, MISC-12, MISC-15
    @Test func extensionsAndTypes() {
        #expect(FileExtensions.mimeType(ofExtension: "HTML") == "text/html")
        #expect(FileExtensions.mimeType(ofExtension: "tgz") == "application/gzip")
        #expect(FileExtensions.mimeType(ofExtension: "nobody") == nil)
        #expect(FileExtensions.fileExtension(forMimeType: "image/jpeg") == "jpeg")
        #expect(FileExtensions.fileExtension(forMimeType: "text/xml") == "xml")
        #expect(FileExtensions.fileExtension(forMimeType: "application/octet-stream") == nil)
        #expect(FileExtensions.fileExtension(ofName: "a.tar.gz") == "gz")
        #expect(FileExtensions.fileExtension(ofName: ".profile") == nil)
        #expect(FileExtensions.fileExtension(ofName: "name.") == nil)
        #expect(FileExtensions.fileExtension(ofName: "name") == nil)
    }

    private func sniffed(
        _ start: [UInt8], contentType: String? = nil, options: String? = nil, pathExtension: String? = nil
    ) -> MediaType? {
        MediaTypeSniffing.mediaType(
            contentType: contentType, contentTypeOptions: options, pathExtension: pathExtension, start: start)
    }

    // MISC-11
    @Test func declaredTypeIsNotSniffed() {
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        #expect(
            sniffed(png, contentType: "application/octet-stream", pathExtension: "gif")
                == MediaType(mimeType: "application/octet-stream"))
        #expect(sniffed(png, contentType: "") == nil)
        #expect(sniffed(png, pathExtension: "gif") == MediaType(mimeType: "image/gif"))
        #expect(sniffed(png, pathExtension: "unknown") == MediaType(mimeType: "image/png"))
        #expect(sniffed(png, options: "NoSniff") == nil)
        #expect(sniffed(png, options: "something, nosniff") == nil)
        #expect(sniffed([]) == nil)
    }

    // MISC-11: whether the content is sniffed
    @Test func needForSniffing() {
        func needsStart(_ hasContentType: Bool = false, _ options: String? = nil, _ pathExtension: String? = nil)
            -> Bool
        {
            MediaTypeSniffing.needsStart(
                hasContentType: hasContentType, contentTypeOptions: options, pathExtension: pathExtension)
        }
        #expect(needsStart())
        #expect(needsStart(false, "other", "unknown"))
        #expect(!needsStart(true))
        #expect(!needsStart(false, "NOSNIFF"))
        #expect(!needsStart(false, nil, "PNG"))
    }

    // MISC-11
    @Test(arguments: [
        ("%PDF-1.7", "application/pdf"), ("GIF89a..", "image/gif"), ("RIFF\u{1}\u{1}\u{1}\u{1}WEBPVP8 ", "image/webp"),
        ("\u{1}\u{1}\u{1}\u{1}ftypisom", "video/mp4"), ("\u{1}\u{1}\u{1}\u{1}ftypavif", "image/avif"),
        ("\n  <!DOCTYPE HTML>", "text/html"), ("<p>", "text/html"), ("<pre>", "text/plain"), ("<!--x", "text/html"),
        (" <?xml version='1.0'?>", "application/xml"), ("{\"a\": 1}", "text/plain"), ("hällo", "text/plain"),
        ("abc\u{0}", "application/octet-stream"), ("\u{1B}[0m", "text/plain"), ("<ht", "text/plain"),
    ])
    func sniffedTypes(start: String, mimeType: String) {
        #expect(sniffed(Array(start.utf8)) == MediaType(mimeType: mimeType))
    }

    // MISC-11: no more than 512 bytes.
    @Test func sniffedLengthIsLimited() {
        let start = [UInt8](repeating: 0x20, count: 512) + [0]
        #expect(sniffed(start) == MediaType(mimeType: "text/plain"))
    }
}
