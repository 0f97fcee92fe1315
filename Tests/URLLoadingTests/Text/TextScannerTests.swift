import Testing
import URLLoading

/// Lines, scalars and characters of UTF-8 in pieces, compared with `String`.
@Suite struct TextScannerTests {
    // T-58
    @Test(
        "where lines end",
        arguments: [
            ("", []),
            ("one", ["one"]),
            ("one\ntwo\n", ["one", "two"]),
            ("one\rtwo\r", ["one", "two"]),
            ("one\r\ntwo\r\n", ["one", "two"]),
            (
                "one\u{0B}two\u{0C}three\u{85}four\u{2028}five\u{2029}six",
                ["one", "two", "three", "four", "five", "six"]
            ),
            // No other character ends a line, whatever it is good for elsewhere.
            ("a\u{1C}b\u{1D}c\u{1E}d\u{1F}e\0f\tg", ["a\u{1C}b\u{1D}c\u{1E}d\u{1F}e\0f\tg"]),
            // Empty lines are left out; those with a space in them are not.
            ("\n\none\n\n\r\n\r\r two\u{85}\u{2028} \n\n", ["one", " two", " "]),
            ("\n", []),
            ("\r\n", []),
            // Bytes that terminators of more than one byte have in common with other characters.
            ("Â\u{84}…“x”\u{80}\u{A8}\u{A9}ＡＢ⠀", ["Â\u{84}…“x”\u{80}\u{A8}\u{A9}ＡＢ⠀"]),
        ]) func whereLinesEnd(text: String, lines: [String])
    {
        for cut in 0...text.utf8.count {
            #expect(LineScanner().all(of: pieces(Array(text.utf8), cuts: [cut])) == lines, "cut at \(cut)")
        }
        #expect(LineScanner().all(ofBytes: Array(text.utf8)) == lines)
    }

    // T-58
    @Test("a terminator that is cut off is text") func aTerminatorThatIsCutOffIsText() {
        #expect(LineScanner().all(of: [[0x61, 0xE2, 0x80]]) == ["a\u{FFFD}"])
        #expect(LineScanner().all(of: [[0x61, 0xE2, 0x80], [0x0A, 0xA8, 0x0A]]) == ["a\u{FFFD}", "\u{FFFD}"])
        #expect(
            LineScanner().all(of: [[0x0A, 0x80], [0xA8, 0x85], [0xC2]]) == [String(repeating: "\u{FFFD}", count: 4)])
    }

    // T-58
    @Test("lines longer than many buffers") func linesLongerThanManyBuffers() {
        let long = String(repeating: "0123456789", count: 30_000)
        let text = Array("short\n\(long)\nshort\n\(long)".utf8)
        let cuts = Array(stride(from: 4_096, to: text.count, by: 4_096))
        #expect(LineScanner().all(of: pieces(text, cuts: cuts)) == ["short", long, "short", long])
    }

    // T-58: the Unicode Standard, table 3-8, and what it forbids
    @Test(
        "what is not well-formed",
        arguments: [
            (
                [0xC0, 0xAF, 0xE0, 0x80, 0xBF, 0xF0, 0x81, 0x82, 0x41],
                "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}A"
            ),
            (
                [0xED, 0xA0, 0x80, 0xED, 0xBF, 0xBF, 0xED, 0xAF, 0x41],
                "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}A"
            ),
            (
                [0xF4, 0x91, 0x92, 0x93, 0xFF, 0x41, 0x80, 0xBF, 0x42],
                "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}A\u{FFFD}\u{FFFD}B"
            ),
            ([0xE1, 0x80, 0xE2, 0xF0, 0x91, 0x92, 0xF1, 0xBF, 0x41], "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}A"),
            ([0xF0, 0x9F, 0x98, 0x80, 0xE2, 0x82, 0xAC, 0xC3, 0xA9], "😀€é"),
            ([0x61, 0xF0, 0x9F, 0x98], "a\u{FFFD}"),
            ([0xEF, 0xBB, 0xBF, 0x61], "\u{FEFF}a"),
            ([0xF4, 0x8F, 0xBF, 0xBF, 0xED, 0x9F, 0xBF, 0xEE, 0x80, 0x80], "\u{10FFFF}\u{D7FF}\u{E000}"),
        ] as [([UInt8], String)]) func illFormedSequences(bytes: [UInt8], text: String)
    {
        #expect(ScalarScanner().all(ofBytes: bytes) == Array(text.unicodeScalars))
        #expect(ScalarScanner().all(of: [bytes]) == Array(text.unicodeScalars))
    }

    // T-58
    @Test("characters of many scalars") func charactersOfManyScalars() {
        let text = "a\r\n\n\r👩‍👩‍👧‍👦🇩🇪🇫🇷e\u{301}\u{327}한각क्षि\u{600}1x"
        for cut in 0...text.utf8.count {
            #expect(CharacterScanner().all(of: pieces(Array(text.utf8), cuts: [cut])) == Array(text))
        }
        #expect(CharacterScanner().all(ofBytes: Array(text.utf8)) == Array(text))
    }

    // T-58
    @Test("a character without end takes no more time than others") func aCharacterWithoutEndTakesNoMoreTimeThanOthers()
    {
        let marks = String(repeating: "\u{301}", count: 400_000)
        let hangul = String(repeating: "\u{1100}", count: 400_000)
        let clock = ContinuousClock()
        let time = clock.measure {
            let bytes = Array("a\(marks)b\(hangul)".utf8)
            let cuts = Array(stride(from: 64, to: bytes.count, by: 64))
            #expect(
                CharacterScanner().all(of: pieces(bytes, cuts: cuts)) == [
                    Character("a" + marks), "b", Character(hangul),
                ])
        }
        // In the square of its length each would take minutes.
        #expect(time < .seconds(20))
    }

    // T-58
    @Test("random bytes in random pieces decode as in String", arguments: 0..<40)
    func randomBytesInRandomPiecesDecodeAsInString(seed: UInt64) {
        var random = SplitMix(state: seed)
        // Half of it the bytes that matter, the rest any.
        let significant: [UInt8] = [
            0x0A, 0x0B, 0x0C, 0x0D, 0x41, 0x80, 0x85, 0xA8, 0xA9, 0xC2, 0xCC, 0x81, 0xE2, 0xE0, 0xED, 0xF0, 0x9F, 0x87,
            0xA6,
        ]
        for _ in 0..<50 {
            let count = Int.random(in: 0...200, using: &random)
            let bytes = (0..<count).map { _ in
                Bool.random(using: &random)
                    ? significant.randomElement(using: &random) ?? 0 : UInt8.random(in: 0...255, using: &random)
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let cuts = (0..<Int.random(in: 0...6, using: &random)).map { _ in Int.random(in: 0...count, using: &random)
            }
            let parts = pieces(bytes, cuts: cuts.sorted())
            #expect(ScalarScanner().all(of: parts) == Array(text.unicodeScalars), "\(bytes) at \(cuts)")
            #expect(ScalarScanner().all(ofBytes: bytes) == Array(text.unicodeScalars), "\(bytes)")
            #expect(CharacterScanner().all(of: parts) == Array(text), "\(bytes) at \(cuts)")
            let lines = text.unicodeScalars.split(whereSeparator: lineEnds.contains).map { String($0) }
            #expect(LineScanner().all(of: parts) == lines, "\(bytes) at \(cuts)")
            #expect(LineScanner().all(ofBytes: bytes) == lines, "\(bytes)")
        }
    }

    private func pieces(_ bytes: [UInt8], cuts: [Int]) -> [[UInt8]] {
        let edges = [0] + cuts + [bytes.count]
        return zip(edges, edges.dropFirst()).map { Array(bytes[$0..<$1]) }
    }
}

extension ByteScanner {
    fileprivate consuming func all(of pieces: [[UInt8]]) -> [Element] {
        var elements: [Element] = []
        var scanner = self
        for piece in pieces {
            scanner.refill(piece)
            while let element = scanner.next() { elements.append(element) }
        }
        while let element = scanner.finish() { elements.append(element) }
        return elements
    }

    fileprivate consuming func all(ofBytes bytes: [UInt8]) -> [Element] {
        var elements: [Element] = []
        var scanner = self
        for byte in bytes {
            scanner.refill(byte)
            while let element = scanner.next() { elements.append(element) }
        }
        while let element = scanner.finish() { elements.append(element) }
        return elements
    }
}

/// As the documentation of `CharacterSet.newlines` lists them.
private let lineEnds: Set<Unicode.Scalar> = ["\n", "\u{0B}", "\u{0C}", "\r", "\u{85}", "\u{2028}", "\u{2029}"]
