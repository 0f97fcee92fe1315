internal import FoundationEssentials

/// A checksum that detects damage. Not secure against intentional changes.
package struct Checksum {
    private var state: UInt64 = 0x51_7C_C1_B7_27_22_0A_95
    /// The bytes of an incomplete word, and the total number of bytes.
    private var rest: UInt64 = 0
    private var count: UInt64 = 0

    package init() {}

    static func of(bytes: [UInt8]) -> Int64 {
        var seal = Checksum()
        bytes.withUnsafeBytes { seal.add($0) }
        return seal.value
    }

    package var value: Int64 {
        var last = self
        last.mix(rest)
        last.mix(count)
        return Int64(bitPattern: last.state ^ last.state >> 29)
    }

    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while offset < bytes.count, count & 7 != 0 {
            add(bytes[offset])
            offset += 1
        }
        while bytes.count - offset >= 8 {
            mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            count &+= 8
            offset += 8
        }
        while offset < bytes.count {
            add(bytes[offset])
            offset += 1
        }
    }

    private mutating func add(_ byte: UInt8) {
        rest |= UInt64(byte) << (8 * (count & 7))
        count &+= 1
        if count & 7 == 0 {
            mix(rest)
            rest = 0
        }
    }

    private mutating func mix(_ word: UInt64) {
        state = (state ^ word) &* 0x9E37_79B9_7F4A_7C15
        state ^= state >> 32
    }

    mutating func add(_ value: DatabaseValue) {
        switch value {
        case .null: mix(0)
        case .integer(let number): add(kind: 1, number)
        case .real(let number): add(kind: 2, Int64(bitPattern: number.bitPattern))
        case .text(var text): text.withUTF8 { add(kind: 3, UnsafeRawBufferPointer($0)) }
        case .blob(let data): data.withUnsafeBytes { add(kind: 4, $0) }
        }
    }

    private mutating func add(kind: UInt64, _ number: Int64) {
        mix(kind)
        mix(UInt64(bitPattern: number))
    }

    private mutating func add(kind: UInt64, _ bytes: UnsafeRawBufferPointer) {
        var inner = Checksum()
        inner.add(bytes)
        add(kind: kind, inner.value)
    }
}

/// A row whose first column is the checksum of the others.
package enum ChecksummedRow {
    package static func seal(_ values: [DatabaseValue]) -> [DatabaseValue] { [.integer(value(values[...]))] + values }

    package static func isWhole(_ row: ArraySlice<DatabaseValue>) -> Bool {
        row.first?.integer == value(row.dropFirst())
    }

    private static func value(_ values: ArraySlice<DatabaseValue>) -> Int64 {
        var seal = Checksum()
        for value in values { seal.add(value) }
        return seal.value
    }
}
