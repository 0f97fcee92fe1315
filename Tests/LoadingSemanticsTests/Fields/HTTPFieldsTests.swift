import CLoadingOctets
import LoadingSemantics
import Testing

@Suite struct HTTPFieldsTests {
    private let fields = HTTPFields([
        ("Accept", "a"), ("X-List", "1"), ("x-LIST", "2"), ("X-Lis", "3"), ("X-List-Long-Enough", "4"), ("X-LiST", ""),
    ])

    // RFC 9110 §5.1, §5.3
    @Test("a name is found whatever its case, and is no prefix of another") func names() {
        #expect(fields.firstIndex(of: "x-list") == 1)
        #expect(fields.firstIndex(of: "X-LIST-LONG-ENOUGH") == 4)
        #expect(fields.firstIndex(of: "X-Li") == nil)
        #expect(fields.firstIndex(of: "") == nil)
        #expect(fields.firstValue("X-LIST") == "1")
        #expect(fields.values("X-List") == ["1", "2", ""])
        #expect(fields.combinedValue("x-list") == "1, 2, ")
        #expect(fields.combinedValue("X-Lis") == "3")
        #expect(fields.values("Age") == [])
        #expect(fields.combinedValue("Age") == nil)
        #expect(fields.contains("ACCEPT") && !fields.contains("Accep"))
        #expect(!HTTPFields().contains("Accept"))
    }

    @Test("the place of a field is laid out as in C") func layout() {
        typealias Position = HTTPFields.Position
        #expect(MemoryLayout<Position>.size == MemoryLayout<clo_field>.size)
        #expect(MemoryLayout<Position>.stride == MemoryLayout<clo_field>.stride)
        let position = Position(nameStart: 1, nameLength: 2, valueStart: 3, valueLength: 4)
        let field = unsafeBitCast(position, to: clo_field.self)
        #expect([field.name_start, field.name_length, field.value_start, field.value_length] == [1, 2, 3, 4])
    }

    // RFC 9110 §5.1: only letters have two cases.
    @Test("characters 32 apart that are no letters differ", arguments: [("^", "~"), ("_", "\u{7F}"), ("`", "@")])
    func otherCharacters(one: String, other: String) {
        let fields = HTTPFields([(one, "")])
        #expect(fields.contains(one) && !fields.contains(other))
    }

    // RFC 9110 §5.5
    @Test("text is UTF-8, or else Latin-1") func text() {
        let octets: [[UInt8]] = [Array("plain".utf8), Array("grün".utf8), [0x67, 0x72, 0xFC, 0x6E], []]
        var block: [UInt8] = []
        var positions: [HTTPFields.Position] = []
        for value in octets {
            positions.append(
                HTTPFields.Position(
                    nameStart: block.count, nameLength: 1, valueStart: block.count + 1, valueLength: value.count))
            block += [UInt8(ascii: "n")] + value
        }
        let fields = HTTPFields(bytes: block, positions: positions)
        #expect(fields.values("N") == ["plain", "grün", "grün", ""])

        // Another section is appended as it is.
        var joined = HTTPFields([("a", "b")])
        joined.append(contentsOf: fields)
        #expect(joined.values("n") == ["plain", "grün", "grün", ""])
        #expect(joined.values("a") == ["b"])
        joined.append("n", "last")
        #expect(joined.values("n") == ["plain", "grün", "grün", "", "last"])
        #expect(joined.bytes.filter { $0 == 0xFC }.count == 1)
        var empty = HTTPFields()
        empty.append(contentsOf: fields)
        #expect(empty == fields)
        empty.append(contentsOf: HTTPFields())
        #expect(empty == fields)
    }
}
