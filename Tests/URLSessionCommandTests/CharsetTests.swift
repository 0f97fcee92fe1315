import Testing

@testable import URLSessionCommandCore

/// Text of other charsets on a terminal.
@Suite struct CharsetTests {
    private func shown(_ bytes: [UInt8], _ charset: String?, piece: Int = 1, type: String = "text/html") -> String {
        var presenter = BodyPresenter(
            mimeType: type, charset: charset, isFormatted: true, style: TextStyle(isColored: false), isUTF8: true)
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            output += presenter.add(bytes[start..<min(start + piece, bytes.count)])
        }
        return String(decoding: output + presenter.finish(), as: UTF8.self)
    }

    @Test(arguments: [1, 2, 3, 1000]) func charsets(_ piece: Int) {
        #expect(shown([0xE9, 0x20, 0x80], "iso-8859-1", piece: piece) == "é €\n")
        #expect(shown([0xB1, 0xE6], "ISO-8859-2", piece: piece) == "ąć\n")
        #expect(shown([0xCF, 0xF0, 0xE8], "windows-1251", piece: piece) == "При\n")
        #expect(shown([0x93, 0xFA, 0x96, 0x7B], "shift_jis", piece: piece) == "日本\n")
        #expect(shown([0xC4, 0xE3, 0xBA, 0xC3], "gb2312", piece: piece) == "你好\n")
        #expect(shown([0x41, 0, 0x3D, 0xD8, 0x00, 0xDE], "utf-16le", piece: piece) == "A😀\n")
        #expect(shown(Array("é".utf8), "utf-8", piece: piece) == "é\n")
        #expect(shown(Array("é".utf8), "no-such-charset", piece: piece) == "é\n")
    }

    @Test func invalidText() {
        #expect(shown([0x41, 0x81, 0x20, 0x42], "shift_jis", piece: 100) == "A\u{FFFD} B\n")
        #expect(shown([0x41, 0x93], "shift_jis") == "A\u{FFFD}\n")
        // Escape sequences are shown in every charset.
        #expect(shown([0x1B, 0x00, 0x41, 0x00], "utf-16le", piece: 100) == "^[A\n")
    }

    /// The time does not grow with the square of the size: that would be minutes.
    @Test(.timeLimit(.minutes(1))) func muchInvalidText() throws {
        let decoder = try #require(CharsetDecoder("euc-jp"))
        let output = decoder.add([UInt8](repeating: 0x8F, count: 2_000_000)) + decoder.finish()
        #expect(output.starts(with: [0xEF, 0xBF, 0xBD]))
    }

    @Test func charsetsThatTheTextNames() {
        let html = Array("<html><meta charset=\"iso-8859-15\">".utf8) + [0xA4]
        #expect(shown(html, nil, piece: 1000).hasSuffix("€\n"))
        let xml = Array("<?xml version='1.0' encoding='windows-1252'?>".utf8) + [0x80]
        #expect(shown(xml, nil, piece: 1000, type: "application/xml").hasSuffix("€\n"))
        #expect(shown([0xFF, 0xFE, 0x41, 0x00], nil, piece: 1000) == "A\n")
        // What the response says counts.
        #expect(shown(html, "iso-8859-1", piece: 1000).hasSuffix("¤\n"))
    }

    /// Files and pipes get the bytes.
    @Test func exactBytes() {
        var presenter = BodyPresenter(
            mimeType: "text/html", charset: "iso-8859-1", isFormatted: false, style: TextStyle(isColored: false),
            isUTF8: true)
        #expect(presenter.add([0xE9]) + presenter.finish() == [0xE9])
    }
}
