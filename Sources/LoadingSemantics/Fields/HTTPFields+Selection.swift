extension HTTPFields {
    /// The fields whose index satisfies `isKept`. Nothing is allocated if all do, which is usual.
    func filtered(_ isKept: (Int) -> Bool) -> HTTPFields {
        if positions.indices.allSatisfy(isKept) { return self }
        var result = HTTPFields()
        result.append(positions.indices.filter(isKept), of: self)
        return result
    }

    /// The fields that have none of these names, in any letter case. The octets of the others are copied, so what is
    /// left out, which may be secret, is not kept in memory.
    package func without(names: [String]) -> HTTPFields {
        filtered { index in !names.contains { isNamed($0, at: index) } }
    }

    /// The fields whose names another section does not have. The block of bytes stays as it is. Nothing is allocated if
    /// no name is in both, which is usual.
    package func without(namesOf other: HTTPFields) -> HTTPFields {
        bytes.withUnsafeBufferPointer { block in
            other.bytes.withUnsafeBufferPointer { otherBlock in
                func isKept(_ position: Position) -> Bool {
                    let (start, length) = (Int(position.nameStart), Int(position.nameLength))
                    // All positions lie within the block; the condition only protects memory if one did not.
                    guard start <= block.count &- length else { return false }
                    let name = UnsafeBufferPointer(rebasing: block[start..<start &+ length])
                    return !other.positions.contains { Self.isNamed(name, $0, in: otherBlock) }
                }
                if positions.allSatisfy(isKept) { return self }
                return HTTPFields(bytes: bytes, positions: positions.filter(isKept))
            }
        }
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
