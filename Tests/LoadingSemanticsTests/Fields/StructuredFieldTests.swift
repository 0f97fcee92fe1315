import LoadingSemantics
import Testing

// RFC 9651
@Suite struct StructuredFieldTests {
    @Test(
        arguments: [
            ("0", StructuredField.Value.integer(0)), ("-42", .integer(-42)), (" 7 ", .integer(7)), ("007", .integer(7)),
            ("999999999999999", .integer(999_999_999_999_999)), ("?1", .boolean(true)), ("?0", .boolean(false)),
            ("5;a=1;b=\"x\";c", .integer(5)), ("1.5", .other), ("\"a\\\"b\\\\\"", .other), ("token/x:y", .other),
            ("*a", .other),
            (":aGk=:", .other), ("@1659578233", .other), ("%\"f%c3%bc\"", .other),
        ] as [(String, StructuredField.Value)])
    func items(text: String, expected: StructuredField.Value) {
        #expect(StructuredField.item(text) == expected)
    }

    @Test(arguments: [
        "", " ", "1 2", "1,2", "-", "--1", "1000000000000000", "1.", "1.2345", "1234567890123.1", "?2", "?", "\"a",
        "\"\\x\"",
        "\"\u{7F}\"", "\"ü\"", ":a", "@1.5", "@", "%a", "5;", "5;A", "5;a=", "\t5", "(1)", "ü",
    ])
    func invalidItems(text: String) {
        #expect(StructuredField.item(text) == nil)
    }

    @Test(
        arguments: [
            ("", [:]), ("a=1, b=?0,c", ["a": .integer(1), "b": .boolean(false), "c": .boolean(true)]),
            ("a=1,a=2", ["a": .integer(2)]),
            ("a;x=1 \t,\t b-c.d_*=(1 \"x\";q  ?1);z", ["a": .boolean(true), "b-c.d_*": .other]),
            ("a=(), *b=5", ["a": .other, "*b": .integer(5)]),
        ] as [(String, [String: StructuredField.Value])])
    func dictionaries(text: String, expected: [String: StructuredField.Value]) {
        #expect(StructuredField.dictionary(text) == expected)
    }

    @Test(arguments: ["a=", "a=1,", "a=1,,b", "A=1", "1=a", "a=1 b=2", "a=(1", "a=(1,2)", "a=(1\"x\")", "a;=1", ",a"])
    func invalidDictionaries(text: String) {
        #expect(StructuredField.dictionary(text) == nil)
    }
}
