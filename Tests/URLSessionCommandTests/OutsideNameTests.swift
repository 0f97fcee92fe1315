import LoadingSemantics
import Testing

@testable import URLSessionCommandCore

/// Names from outside in places where single bytes have a meaning. A Character may be several of them.
@Suite struct OutsideNameTests {
    @Test(
        arguments: [
            ("a\r\nb", "a%0D%0Ab"), ("a\rb", "a%0Db"), ("a\nb", "a%0Ab"), ("a\"b", "a%22b"),
            ("a\"\u{301}b", "a%22\u{301}b"), ("é", "é"),
        ])
    func namesOfParts(_ name: String, _ encoded: String) throws {
        var part = FormPart(name: name, .text("t"))
        part.fileName = name
        let form = try MultipartForm([part], boundary: "b")
        guard case .bytes(let bytes)? = form.body.segments.first else {
            Issue.record("not one text")
            return
        }
        let text = String(decoding: bytes, as: UTF8.self)
        // By scalars: a mark may combine with a quotation mark in both.
        #expect(text.unicodeScalars.contains("; name=\"\(encoded)\"; filename=\"\(encoded)\"\r\n".unicodeScalars))
    }

    @Test func remoteNamesHaveNoSlash() throws {
        #expect(try URLArgument.remoteName(of: "http://h/x/../\u{301}evil") == "\u{301}evil")
        #expect(throws: UsageError.self) { try URLArgument.remoteName(of: "http://h/\u{301}/..") }
        #expect(throws: UsageError.self) { try URLArgument.remoteName(of: "http://h") }
    }
}
