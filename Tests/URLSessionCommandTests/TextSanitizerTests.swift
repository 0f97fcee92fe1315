import Testing
import URLSessionCommandCore

/// Text from a server must not control the terminal.
@Suite struct TextSanitizerTests {
    private func body(_ bytes: [UInt8], isUTF8: Bool = true) -> String {
        var presenter = BodyPresenter(
            mimeType: "text/plain", isFormatted: true, style: TextStyle(isColored: false), isUTF8: isUTF8)
        let first = presenter.add(bytes)
        return String(decoding: first + presenter.finish(), as: UTF8.self)
    }

    @Test(arguments: [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\r\nb\r\n", "a\r\nb\r\n"),
        ("over\rwrite\n", "over^Mwrite\n"),
        ("\u{1B}]0;title\u{07}\n", "^[]0;title^G\n"),
        ("\u{1B}[2J\n", "^[[2J\n"),
        ("a\u{08}\u{7F}\n", "a^H^?\n"),
        ("\u{9B}2J\n", "<U+009B>2J\n"),
        ("\u{202E}txt.exe\u{2066}\n", "<U+202E>txt.exe<U+2066>\n"),
        ("naïve 東京 🙂\n", "naïve 東京 🙂\n"),
        ("no line break", "no line break\n"),
        ("end\r", "end\r\n"),
    ])
    func controls(_ text: String, _ expected: String) {
        #expect(body(Array(text.utf8)) == expected)
    }

    @Test(arguments: [
        ([0x61, 0x9B, 0x32, 0x4A, 0x0A], "a\u{FFFD}2J\n"),
        ([0xC3, 0x28, 0x0A], "\u{FFFD}(\n"),
        ([0xE2, 0x82, 0x0A], "\u{FFFD}\n"),
        // Overlong and surrogate forms could smuggle a control past a lenient terminal.
        ([0xC0, 0x9B, 0x0A], "\u{FFFD}\u{FFFD}\n"),
        ([0xE0, 0x80, 0x9B, 0x0A], "\u{FFFD}\u{FFFD}\u{FFFD}\n"),
        ([0xED, 0xA0, 0x80, 0x0A], "\u{FFFD}\u{FFFD}\u{FFFD}\n"),
        ([0xF4, 0x90, 0x80, 0x80, 0x0A], "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\n"),
        ([0xC3], "\u{FFFD}\n"),
    ])
    func invalidUTF8(_ bytes: [UInt8], _ expected: String) {
        #expect(body(bytes) == expected)
    }

    @Test func asciiTerminalsGetASCII() {
        #expect(body(Array("naïve\n".utf8), isUTF8: false) == "na?ve\n")
        #expect(body([0x9B, 0x0A], isUTF8: false) == "?\n")
    }

    @Test func charactersCutByAPieceAreJoined() {
        var presenter = BodyPresenter(
            mimeType: "text/plain", isFormatted: true, style: TextStyle(isColored: false), isUTF8: true)
        let output = "a🙂\r\nb".utf8.map { presenter.add([$0]) }.joined() + presenter.finish()
        #expect(String(decoding: Array(output), as: UTF8.self) == "a🙂\r\nb\n")
    }

    @Test func insideALineNothingBreaksIt() {
        #expect(TextSanitizer.clean("a\r\nb\tc") == "a^M^Jb^Ic")
    }
}
