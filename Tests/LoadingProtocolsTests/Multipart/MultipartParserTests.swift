import LoadingProtocols
import LoadingSemantics
import Testing

// MISC-23, S-69
@Suite struct MultipartParserTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let name: String
        let text: String
        let boundary: String
        let expected: [String]

        init(_ name: String, _ text: String, boundary: String = "b", _ expected: [String]) {
            self.name = name
            self.text = text
            self.boundary = boundary
            self.expected = expected
        }

        var testDescription: String { name }
    }

    static let cases = [
        // RFC 2046 §5.1.1: the standard's own arrangement of a preamble, a part without a head, and an epilogue.
        Case(
            "the standard's example",
            """
            This is the preamble.  It is to be ignored.\r
            \r
            --simple boundary\r
            \r
            Implicitly typed. It does NOT end with a linebreak.\r
            --simple boundary\r
            Content-type: text/plain; charset=us-ascii\r
            \r
            Explicitly typed. It DOES end with a linebreak.\r
            \r
            --simple boundary--\r
            \r
            This is the epilogue.\r
            --simple boundary\r
            """, boundary: "simple boundary",
            [
                "part ", "Implicitly typed. It does NOT end with a linebreak.", "part end",
                "part Content-type=text/plain; charset=us-ascii", "Explicitly typed. It DOES end with a linebreak.\r\n",
                "part end", "end",
            ]),
        Case("no preamble", "--b\r\nA: 1\r\n\r\nx\r\n--b--", ["part A=1", "x", "part end", "end"]),
        Case("empty body", "--b\r\n\r\n\r\n--b--\r\n", ["part ", "part end", "end"]),
        Case("no body", "--b\r\nA: 1\r\n\r\n--b--", ["part A=1", "part end", "end"]),
        Case("no parts", "--b--\r\nx", ["end"]),
        Case("no parts and no line end", "--b--", ["end"]),
        Case("no parts, with a preamble", "hello\r\n--b-- x", ["end"]),
        Case("nothing", "", ["cut off"]),
        Case("no delimiter", "hello\r\n--c\r\n\r\nx", ["cut off"]),

        // Line ends.
        Case(
            "LF only", "--b\nA: 1\nB: 2\n\nx\ny\n--b\n\nz\n--b--\n",
            ["part A=1|B=2", "x\ny", "part end", "part ", "z", "part end", "end"]),
        Case(
            "LF in the head, CRLF elsewhere", "--b\r\nA: 1\n\nx\r\n--b--", ["part A=1", "x", "part end", "end"]),
        Case(
            "CRLF before, LF after", "--b\n\nx\r\n--b\n\ny\n--b--",
            ["part ", "x", "part end", "part ", "y", "part end", "end"]),
        Case("CR of the body", "--b\r\n\r\nx\r\r\n--b--", ["part ", "x\r", "part end", "end"]),
        Case("line ends of the body", "--b\r\n\r\n\r\n\n\r\n\r\n--b--", ["part ", "\r\n\n\r\n", "part end", "end"]),
        Case(
            "CR is no line end of a delimiter", "--b\r\n\r\nx\r--b\r\r\n--b--",
            ["part ", "x\r--b\r", "part end", "end"]),

        // Delimiters and what looks like one.
        Case(
            "padding", "--b \t \r\n\r\nx\r\n--b  \n\ny\r\n--b--  \r\n",
            ["part ", "x", "part end", "part ", "y", "part end", "end"]),
        Case("longer word", "--b\r\n\r\nx\r\n--bb\r\n--b--", ["part ", "x\r\n--bb", "part end", "end"]),
        Case("one hyphen", "--b\r\n\r\nx\r\n--b-\r\n-b\r\n--b--", ["part ", "x\r\n--b-\r\n-b", "part end", "end"]),
        Case("text behind padding", "--b\r\n\r\n--b x\r\n--b--", ["part ", "--b x", "part end", "end"]),
        Case("padding before hyphens", "--b\r\n\r\n--b --\r\n--b--", ["part ", "--b --", "part end", "end"]),
        Case("not at the start of a line", "--b\r\n\r\nx--b\r\n--b--", ["part ", "x--b", "part end", "end"]),
        Case("begun twice", "--b\r\n\r\n\r\n\r\n\n--\r\n--b--", ["part ", "\r\n\r\n\n--", "part end", "end"]),
        Case("hyphens before it", "--b\r\n\r\n---b\r\n----b\r\n--b--", ["part ", "---b\r\n----b", "part end", "end"]),
        Case(
            "more padding than any", "--b\r\n\r\n--b" + String(repeating: " ", count: 65) + "\r\n--b--",
            ["part ", "--b" + String(repeating: " ", count: 65), "part end", "end"]),
        Case(
            "as much padding as may be",
            "--b\r\n\r\nx\r\n--b" + String(repeating: " ", count: 64) + "\r\n\r\n\r\n--b--",
            ["part ", "x", "part end", "part ", "part end", "end"]),
        Case(
            "preamble that begins like it", "--bb\r\n-- b\r\nx--b\r\n--b\r\n\r\nx\r\n--b--",
            ["part ", "x", "part end", "end"]),
        Case(
            "a long line in the preamble", String(repeating: "x", count: 500) + "--b\r\n--b\r\n\r\n--b--",
            ["part ", "part end", "end"]),
        Case(
            "binary", "--b\r\n\r\n\0\u{1}\n\0-\r\0\r\n-\0--b\0\r\n--b--",
            ["part ", "\0\u{1}\n\0-\r\0\r\n-\0--b\0", "part end", "end"]),

        // Cameras announce the hyphens too.
        Case(
            "announced with hyphens, sent without more", "--cam\r\n\r\nx\r\n--cam\r\n\r\ny\r\n--cam--",
            boundary: "--cam",
            ["part ", "x", "part end", "part ", "y", "part end", "end"]),
        Case(
            "announced with hyphens, as the standard says", "----cam\r\n\r\nx\r\n--cam\r\n----cam--", boundary: "--cam",
            ["part ", "x\r\n--cam", "part end", "end"]),

        // Heads.
        Case(
            "a wrong length", "--b\r\nContent-Length: 1\r\n\r\nxyz\r\n--b\r\nContent-Length: 99\r\n\r\nx\r\n--b--",
            ["part Content-Length=1", "xyz", "part end", "part Content-Length=99", "x", "part end", "end"]),
        Case("a folded field", "--b\r\nA: 1\r\n  2\r\n\r\n--b--", ["part A=1 2", "part end", "end"]),
        Case(
            "lines that are no fields", "--b\r\nnonsense\r\nA: 1\r\n: x\r\nB : 2\r\nC: 3\r\n\r\n--b--",
            ["part A=1|C=3", "part end", "end"]),
        Case("a fold with nothing before it", "--b\r\n x\r\nA: 1\r\n\r\n--b--", ["part A=1", "part end", "end"]),

        // CONN-28
        Case("a CR in a part's field", "--b\r\nA: 1\rB: 2\r\n\r\nx\r\n--b--", ["error bareCarriageReturn"]),
        Case("a CR for the end of a head", "--b\r\nA: 1\r\n\rx\r\n--b--", ["error bareCarriageReturn"]),
        Case(
            "a CR in a later part's head", "--b\r\n\r\nx\r\n--b\r\nA: 1\r\r\n\r\ny\r\n--b--",
            ["part ", "x", "part end", "error bareCarriageReturn"]),
        Case("a CR in the preamble is text", "x\ry\r\n--b\r\n\r\nx\r\n--b--", ["part ", "x", "part end", "end"]),

        // Cut off.
        Case("in the body", "--b\r\n\r\nxyz", ["part ", "xyz", "part end", "cut off"]),
        Case("after a line end", "--b\r\n\r\nxyz\r\n", ["part ", "xyz\r\n", "part end", "cut off"]),
        Case("in a delimiter's hyphens", "--b\r\n\r\nxyz\r\n-", ["part ", "xyz\r\n-", "part end", "cut off"]),
        Case(
            "in a boundary", "--cut\r\n\r\nx\r\n--cu", boundary: "cut", ["part ", "x\r\n--cu", "part end", "cut off"]),
        Case("after a boundary", "--b\r\n\r\nx\r\n--b", ["part ", "x", "part end", "cut off"]),
        Case("after padding", "--b\r\n\r\nx\r\n--b \r", ["part ", "x", "part end", "cut off"]),
        Case("before the last hyphen", "--b\r\n\r\nx\r\n--b-", ["part ", "x", "part end", "cut off"]),
        Case("after a delimiter", "--b\r\n\r\nx\r\n--b\r\n", ["part ", "x", "part end", "cut off"]),
        Case("in a head", "--b\r\n\r\nx\r\n--b\r\nA: 1\r\n", ["part ", "x", "part end", "cut off"]),
        Case("in the first delimiter", "--b", ["cut off"]),
        Case("after a head", "--b\r\nA: 1\r\n\r\n", ["part A=1", "part end", "cut off"]),
    ]

    @Test(arguments: cases)
    func reads(_ test: Case) {
        #expect(MultipartTranscript([Array(test.text.utf8)], boundary: test.boundary).lines == test.expected)
    }

    // Any two cuts give the same events, and so do single bytes.
    @Test(arguments: cases)
    func readsTheSameHoweverItIsCut(_ test: Case) {
        let bytes = Array(test.text.utf8)
        let single = MultipartTranscript(bytes.map { [$0] }, boundary: test.boundary)
        #expect(single.lines == test.expected)
        let step = bytes.count > 200 ? 17 : 1
        var wrong: [String] = []
        for first in stride(from: 0, through: bytes.count, by: step) {
            for second in stride(from: first, through: bytes.count, by: step) {
                let parts = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
                if MultipartTranscript(parts, boundary: test.boundary).lines != test.expected {
                    wrong.append("cut at \(first) and \(second)")
                }
            }
        }
        #expect(wrong == [])
    }

    // The same for random bodies, made of a delimiter's own letters.
    @Test(arguments: 0..<64 as Range<UInt64>)
    func readsTheSameWhateverItIs(seed: UInt64) {
        var random = Random(state: seed &* 0x9E37_79B9_7F4A_7C15 | 1)
        let alphabet = ["\r\n", "\n", "\r", "-", "--", "b", "--b", "\r\n--b", " ", "A: 1", "x", "\0"]
        for _ in 0..<40 {
            var text: [UInt8] = Array("--b\r\n".utf8)
            for _ in 0..<Int(random.next() % 24) {
                text += alphabet[Int(random.next() % UInt64(alphabet.count))].utf8
            }
            var parts: [[UInt8]] = []
            var start = 0
            while start < text.count {
                let end = min(start + 1 + Int(random.next() % 5), text.count)
                parts.append(Array(text[start..<end]))
                start = end
            }
            let whole = MultipartTranscript([text]).lines
            #expect(MultipartTranscript(parts).lines == whole)
            #expect(["end", "cut off", "error bareCarriageReturn"].contains(whole.last))
        }
    }

    @Test func bodiesAreNotCopied() {
        var parser = MultipartParser(boundary: Array("b".utf8))
        // A picture of sorts: line ends of both kinds, none before a hyphen.
        let text =
            Array("--b\r\n\r\n".utf8) + (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 31) & 0x1F }
            + Array("\r\n--b--".utf8)
        text.withUnsafeBytes { bytes in
            var input = bytes
            var pieces: [Range<Int>] = []
            while let event = try? parser.next(&input) {
                guard case .body(let body) = event, let start = body.baseAddress, let first = bytes.baseAddress else {
                    continue
                }
                pieces.append(start - first..<start - first + body.count)
            }
            #expect(pieces == [7..<7 + 4096])
        }
    }

    @Test func limits() {
        let limits = MultipartLimits(maximumHeadLength: 16, maximumFieldCount: 2)
        func lines(_ text: String) -> [String] { MultipartTranscript([Array(text.utf8)], limits: limits).lines }
        #expect(lines("--b\r\nA: 1\r\nB: 2345\r\n\r\nx") == ["error headTooLong"])
        #expect(lines("--b\r\nA: 1\r\nB: 2\r\n\r\nx") == ["part A=1|B=2", "x", "part end", "cut off"])
        #expect(lines("--b\r\na:\r\nb:\r\nc:\r\n") == ["error tooManyFields"])
        #expect(lines("--b\r\n" + String(repeating: "x", count: 99)) == ["error headTooLong"])
    }

    @Test func errorsStay() {
        var parser = MultipartParser(boundary: Array("b".utf8), limits: MultipartLimits(maximumFieldCount: 0))
        Array("--b\r\nA: 1\r\n".utf8).withUnsafeBytes { bytes in
            var input = bytes
            #expect(throws: MultipartParseError.tooManyFields) { try parser.next(&input) }
            var empty = UnsafeRawBufferPointer(start: nil, count: 0)
            #expect(throws: MultipartParseError.tooManyFields) { try parser.next(&empty) }
            #expect(throws: MultipartParseError.tooManyFields) { try parser.inputEnded() }
        }
    }

    @Test func fieldsOfAPart() {
        let response = HTTPFields([
            ("Content-Type", "multipart/x-mixed-replace; boundary=b"), ("Server", "cam"), ("X-A", "1"),
            ("Content-Length", "99"), ("Cache-Control", "no-store"),
        ])
        let part = HTTPFields([("content-type", "image/jpeg"), ("x-a", "2"), ("X-A", "3")])
        #expect(
            MultipartPartFields.merged(part: part, into: response)
                == HTTPFields([
                    ("Server", "cam"), ("Cache-Control", "no-store"), ("content-type", "image/jpeg"), ("x-a", "2"),
                    ("X-A", "3"),
                ]))
    }
}

/// Marsaglia's xorshift: the same numbers for the same seed.
private struct Random {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
