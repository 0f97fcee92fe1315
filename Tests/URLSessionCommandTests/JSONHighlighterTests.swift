import Testing
import URLSessionCommandCore

/// The streaming pretty-printer.
@Suite struct JSONHighlighterTests {
    private func plain(_ text: String) -> String {
        JSONHighlighter.format(text, style: TextStyle(isColored: false))
    }

    @Test func layout() {
        #expect(
            plain(#"{"a":[1,{"b":true}],"c":{},"d":[],"e":null,"f":"x\"\u00e9y"}"#) == #"""
                {
                  "a": [
                    1,
                    {
                      "b": true
                    }
                  ],
                  "c": {},
                  "d": [],
                  "e": null,
                  "f": "x\"\u00e9y"
                }

                """#)
    }

    @Test func layoutDoesNotDependOnTheBlanksThatCame() {
        #expect(plain(" { \"a\" : [ ] ,\n\t\"b\":\r\n-1.5e+3 } ") == "{\n  \"a\": [],\n  \"b\": -1.5e+3\n}\n")
    }

    @Test func colors() {
        #expect(
            JSONHighlighter.format(#"{"k":["s",-1,false]}"#, style: TextStyle(isColored: true))
                == "{\n  \u{1B}[1;34m\"k\"\u{1B}[0m: [\n    \u{1B}[32m\"s\"\u{1B}[0m,\n    \u{1B}[36m-1\u{1B}[0m,\n"
                + "    \u{1B}[35mfalse\u{1B}[0m\n  ]\n}\n")
    }

    @Test func everySplitFormatsTheSame() {
        let text = #"{"ключ":[1,"два",true,{"x":null}]}"#
        let whole = plain(text)
        var highlighter = JSONHighlighter(style: TextStyle(isColored: false))
        var pieces: [[UInt8]] = []
        for byte in text.utf8 {
            var output: [UInt8] = []
            highlighter.add(byte, to: &output)
            pieces.append(output)
        }
        var rest: [UInt8] = []
        highlighter.finish(to: &rest)
        #expect(String(decoding: (pieces + [rest]).joined(), as: UTF8.self) == whole)
        #expect(pieces.map(\.count).max() ?? 0 < 16)
    }

    @Test(arguments: [
        ("1 2\n\"a\"", "1\n2\n\"a\"\n"),
        ("{\"a\":1}\n{\"a\":2}\n", "{\n  \"a\": 1\n}\n{\n  \"a\": 2\n}\n"),
        ("\u{FEFF}true", "true\n"),
        ("", ""),
        ("  \n", ""),
    ])
    func valuesInARow(_ text: String, _ expected: String) {
        #expect(plain(text) == expected)
    }

    @Test(arguments: [
        ("<html>", "<html>"),
        ("{\"a\":1,}", "{\n  \"a\": 1,\n  }"),
        ("[1 2]", "[\n  12]"),
        ("{a:1}", "{a:1}"),
        ("truth", "truth"),
        ("]", "]"),
        ("[}", "[}"),
        ("{\"a\" 1}", "{\n  \"a\"1}"),
        ("\"a\nb\"", "\"a\nb\""),
        ("\"\\x\"", "\"\\x\""),
        ("{\"a\":\u{1B}[31m}", "{\n  \"a\": ^[[31m}"),
    ])
    func invalidJSONPassesAsText(_ text: String, _ expected: String) {
        #expect(plain(text) == expected)
    }

    @Test(arguments: [
        ("{\"a\":[1", "{\n  \"a\": [\n    1\n"),
        ("{\"a", "{\n  \"a\n"),
        ("tru", "tru\n"),
    ])
    func cutOff(_ text: String, _ expected: String) {
        #expect(plain(text) == expected)
    }

    @Test func nestingWithoutEndIsBounded() {
        let text = String(repeating: "[", count: 100_000)
        let output = plain(text)
        #expect(output.hasSuffix(String(repeating: "[", count: 100_000 - 511)))
        #expect(output.count(where: { $0 == "[" }) == 100_000)
    }

    @Test func stringsCannotCommandTheTerminal() {
        #expect(plain("\"a\u{9B}31m\u{202E}b\"") == "\"a<U+009B>31m<U+202E>b\"\n")
    }
}
