extension HTTPFields {
    /// The fields whose index satisfies `isKept`.
    func filtered(_ isKept: (Int) -> Bool) -> HTTPFields {
        let kept = positions.indices.filter(isKept)
        if kept.count == count { return self }
        var result = HTTPFields()
        result.append(kept, of: self)
        return result
    }

    /// The fields that have none of these names, in any letter case. The octets of the others are copied, so what is left
    /// out, which may be secret, is not kept in memory.
    package func without(names: [String]) -> HTTPFields {
        filtered { index in !names.contains { isNamed($0, at: index) } }
    }

    /// The fields whose names another section does not have. The block of bytes stays as it is.
    package func without(namesOf other: HTTPFields) -> HTTPFields {
        let kept = bytes.withUnsafeBufferPointer { block in
            other.bytes.withUnsafeBufferPointer { otherBlock in
                positions.filter { position in
                    let (start, length) = (Int(position.nameStart), Int(position.nameLength))
                    // All positions lie within the block; the condition only protects memory if one did not.
                    guard start <= block.count &- length else { return false }
                    let name = UnsafeBufferPointer(rebasing: block[start..<start &+ length])
                    return !other.positions.contains { Self.isNamed(name, $0, in: otherBlock) }
                }
            }
        }
        return kept.count == count ? self : HTTPFields(bytes: bytes, positions: kept)
    }

    /// Copies octets, so that values that are not UTF-8 are unchanged.
    private mutating func append(_ indices: [Int], of other: HTTPFields) {
        var bytes = bytes
        var positions = positions
        for index in indices {
            let position = other.positions[index]
            let nameStart = bytes.count
            let name = Int(position.nameStart)..<Int(position.nameStart) + Int(position.nameLength)
            bytes += other.bytes[name]
            let valueStart = bytes.count
            let value = Int(position.valueStart)..<Int(position.valueStart) + Int(position.valueLength)
            bytes += other.bytes[value]
            positions.append(
                Position(
                    nameStart: nameStart, nameLength: name.count, valueStart: valueStart, valueLength: value.count))
        }
        self = HTTPFields(bytes: bytes, positions: positions)
    }
}

extension [String] {
    /// Whether a field's name is among these, in any letter case.
    package func contains(fieldNamed name: String) -> Bool {
        contains { other in
            other.utf8.count == name.utf8.count
                && zip(other.utf8, name.utf8).allSatisfy { asciiLowercase($0) == asciiLowercase($1) }
        }
    }
}
