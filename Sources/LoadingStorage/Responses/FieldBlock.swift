internal import FoundationEssentials
internal import LoadingSemantics

/// Encodes fields as one value: the number of fields, the lengths of each name and value, and all bytes.
enum FieldBlock {
    static func data(_ fields: HTTPFields) -> Data {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(4 + 8 * fields.count + fields.bytes.count)
        func append(_ number: UInt32) { withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) } }
        append(UInt32(truncatingIfNeeded: fields.count))
        for position in fields.positions {
            append(position.nameLength)
            append(position.valueLength)
        }
        for position in fields.positions {
            bytes += fields.bytes[range(position.nameStart, position.nameLength)]
            bytes += fields.bytes[range(position.valueStart, position.valueLength)]
        }
        return Data(bytes)
    }

    /// Returns nil if the data are malformed.
    static func fields(_ data: Data) -> HTTPFields? {
        data.withUnsafeBytes { octets in
            func number(_ index: Int) -> Int {
                Int(UInt32(littleEndian: octets.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)))
            }
            guard octets.count >= 4, case let count = number(0), 4 + 8 * count <= octets.count else { return nil }
            var positions: [HTTPFields.Position] = []
            positions.reserveCapacity(count)
            var position = 0
            for index in 0..<count {
                let (name, value) = (number(1 + 2 * index), number(2 + 2 * index))
                positions.append(
                    HTTPFields.Position(
                        nameStart: position, nameLength: name, valueStart: position + name, valueLength: value))
                position += name + value
            }
            let bytes = octets[(4 + 8 * count)...]
            return position == bytes.count ? HTTPFields(bytes: Array(bytes), positions: positions) : nil
        }
    }

    private static func range(_ start: UInt32, _ count: UInt32) -> Range<Int> { Int(start)..<Int(start) + Int(count) }
}
