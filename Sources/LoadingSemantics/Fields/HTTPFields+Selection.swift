extension HTTPFields {
    /// The fields whose index satisfies `isKept`.
    func filtered(_ isKept: (Int) -> Bool) -> HTTPFields {
        let kept = positions.indices.filter(isKept)
        if kept.count == count { return self }
        var result = HTTPFields()
        result.append(kept, of: self)
        return result
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
