import LoadingSemantics
import Testing

@Suite struct TXTRecordTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static func record(_ strings: String...) -> [UInt8] {
        strings.flatMap { [UInt8($0.utf8.count)] + bytes($0) }
    }

    // STREAM-10
    @Test("a record has its keys and values, and the first of a key counts") func values() {
        let table: [([UInt8], [String: [UInt8]])] = [
            ([], [:]), ([0], [:]), ([0, 0, 0], [:]),
            (Self.record("path=/x", "b=2"), ["path": Self.bytes("/x"), "b": Self.bytes("2")]),
            (Self.record("flag"), ["flag": []]), (Self.record("empty="), ["empty": []]),
            (Self.record("a=b=c"), ["a": Self.bytes("b=c")]), (Self.record("=value"), [:]),
            (Self.record("A=1", "a=2"), ["A": Self.bytes("1")]),
            // Values have any octets, keys are printable ASCII.
            ([3, 0x61, 0x3D, 0xFF], ["a": [0xFF]]), ([3, 0xFF, 0x3D, 0x61], [:]), ([2, 0x0A, 0x3D], [:]),
            // Cut off within the second string, and before the first.
            (Self.record("a=1") + [9, 0x62], ["a": Self.bytes("1")]), ([255], [:]),
        ]
        for (data, values) in table { #expect(TXTRecord.values(in: data) == values, "\(data)") }
    }

    // STREAM-10
    @Test("keys and values become a record, or nothing if one is not valid") func data() {
        let longest = [UInt8](repeating: 0x61, count: 253)
        let table: [([String: [UInt8]], [UInt8]?)] = [
            ([:], [0]), (["b": Self.bytes("2"), "a": []], Self.record("a=", "b=2")), (["": []], nil),
            (["a=b": []], nil), (["ä": []], nil), (["a\0": []], nil), (["k": longest], [255, 0x6B, 0x3D] + longest),
            (["k": longest + [0]], nil),
            (Dictionary(uniqueKeysWithValues: (0..<300).map { ("\($0)", [UInt8](repeating: 0, count: 250)) }), nil),
        ]
        for (values, data) in table { #expect(TXTRecord.data(of: values) == data, "\(values)") }
    }
}
