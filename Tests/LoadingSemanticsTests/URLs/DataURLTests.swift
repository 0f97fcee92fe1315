import Foundation
import LoadingSemantics
import Testing

/// RFC 2397.
@Suite struct DataURLTests {
    private static let standard = MediaType(mimeType: "text/plain")

    // MISC-16
    @Test(
        "the content of a URL",
        arguments: [
            ("data:,A%20brief%20note", standard, "A brief note"),
            ("data:,", standard, ""),
            ("data:;base64,aGVsbG8=", standard, "hello"),
            ("DATA:;BASE64,aGVsbG8=", standard, "hello"),
            ("data:text/html,<b>", MediaType(mimeType: "text/html"), "<b>"),
            ("data:Text/HTML;Charset=UTF-8,x", MediaType(mimeType: "text/html", charset: "utf-8"), "x"),
            ("data:;charset=utf-8,x", MediaType(mimeType: "text/plain", charset: "utf-8"), "x"),
            // Beyond the rule: an invalid media type counts as absent.
            ("data:text/html%0A;charset=utf-8,x", standard, "x"),
            ("data:nonsense,x", standard, "x"),
            ("data://test/,x", standard, "x"),
            ("data:text/,x", standard, "x"),
            ("data:/html,x", standard, "x"),
            ("data:text/ht ml,x", standard, "x"),
            ("data:text/%E2%80%A0;charset=utf-8,x", standard, "x"),
            (
                "data:text/plain;charset=\"iso-8859-1\";base64,eA==",
                MediaType(mimeType: "text/plain", charset: "iso-8859-1"), "x"
            ),
            // As `URL(string:)` encodes them.
            ("data:;charset=%22UTF-8%22,x", MediaType(mimeType: "text/plain", charset: "utf-8"), "x"),
            ("data:text/html;charset=%22%22,x", MediaType(mimeType: "text/html"), "x"),
            ("data:text/plain; base64 ,eA==", MediaType(mimeType: "text/plain"), "x"),
            ("data:,a,b;c", standard, "a,b;c"),
            ("data:,x#fragment", standard, "x"),
            ("data:,x?query", standard, "x?query"),
            // Beyond the rule: white space in base64, and padding that is missing.
            ("data:;base64,aGVs%0AbG8", standard, "hello"),
            ("data:;base64,%20%09eA%0A=%0C%0D=%20", standard, "x"),
            ("data:;base64,eHg", standard, "xx"),
            ("data:;base64,", standard, ""),
            ("data:text/plain;base64;x=y,aGk=", MediaType(mimeType: "text/plain"), "aGk="),
            // Percent-encoded separators do not separate.
            (
                "data:text/html;a=b%3Bcharset=latin1;charset=utf-8,x",
                MediaType(mimeType: "text/html", charset: "utf-8"), "x"
            ),
            ("data:image/svg%2Bxml;name=a%20b,x", MediaType(mimeType: "image/svg+xml"), "x"),
            ("data:text/html;charset%3Dutf-8,x", MediaType(mimeType: "text/html"), "x"),
            (
                "data:text%2Fhtml;%63harset=utf-8;%62ase64,aGk=", MediaType(mimeType: "text/html", charset: "utf-8"),
                "hi"
            ),
        ])
    func contentOfURL(text: String, type: MediaType, content: String) throws {
        let url = try #require(DataURL(text))
        #expect(url.mediaType == type)
        #expect(String(decoding: url.data, as: UTF8.self) == content)
    }

    // MISC-16: bytes of any value
    @Test("bytes that are not text") func bytesThatAreNotText() throws {
        #expect(try #require(DataURL("data:application/octet-stream,%00%FF%fe")).data == Data([0, 0xFF, 0xFE]))
        #expect(try #require(DataURL("data:;base64,AP/+")).data == Data([0, 0xFF, 0xFE]))
    }

    // MISC-16
    @Test(
        "invalid encodings",
        arguments: [
            "data:", "data:x", "data:text/plain", "http://x/,y", "data:,%", "data:,%4", "data:,%g0", "data:%zz,x",
            "data:text/html;charset=%,x", "data:;base64,a", "data:;base64,a===", "data:;base64,a-_b",
            "data:;base64,aGk=x", "data:;base64,=",
            // Padding that is wrong, also of complete digits, between them, and of none.
            "data:;base64,==", "data:;base64,===", "data:;base64,====", "data:;base64,eHg=x", "data:;base64,eH=g",
            "data:;base64,eA=", "data:;base64,eA===", "data:;base64,eA====", "data:;base64,eHg==",
            "data:;base64,eHh4=", "data:;base64,eHh4==", "data:;base64,eHh4====",
            // As in swift-corelibs-foundation.
            "data:text/html%3Bcharset=utf-8,x", "data:text/html%3Bbase64,aGk=", "data:text/html;charset=utf-8%3Bx,x",
            "data:text/html;charset=iso-8859-%31,x", "data:text/html;charset=utf-8%0AX:y,x",
            "data:text/html;charset=%22a%0D%0Ab%22,x", "data:text/html;charset=%22,x", "data:text/html;charset=%22a,x",
            "data:text/html;charset=%22utf-%38%22,x",
        ])
    func invalidEncodings(text: String) {
        #expect(DataURL(text) == nil)
    }
}
