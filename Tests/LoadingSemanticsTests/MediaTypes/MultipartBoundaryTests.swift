import LoadingSemantics
import Testing

// MISC-23
@Suite struct MultipartBoundaryTests {
    @Test(arguments: [
        ("multipart/x-mixed-replace; boundary=frame", "frame"),
        ("Multipart/Mixed;charset=x; Boundary=\"a b:c\"", "a b:c"),
        ("multipart/x-mixed-replace;boundary=--frame", "--frame"), ("multipart/mixed; boundary=\"a\\\"b\"", "a\"b"),
        ("multipart/mixed", nil), ("multipart/mixed; boundary=", nil), ("multipart/mixed; boundary=\"a \"", nil),
        ("multipart/mixed; boundary=\"a\u{1}\"", nil), ("text/plain; boundary=a", nil), ("", nil),
        ("multipart; boundary=a", nil),
    ])
    func boundaries(contentType: String, expected: String?) {
        #expect(MultipartBoundary.find(in: contentType) == expected.map { Array($0.utf8) })
    }

    @Test func limit() {
        let longest = String(repeating: "a", count: MultipartBoundary.maximumLength)
        #expect(MultipartBoundary.find(in: "multipart/mixed; boundary=" + longest)?.count == longest.count)
        #expect(MultipartBoundary.find(in: "multipart/mixed; boundary=a" + longest) == nil)
    }
}
