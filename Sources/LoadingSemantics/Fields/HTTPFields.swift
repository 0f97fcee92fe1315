/// A header or trailer section: the fields in their received order and spelling, in one block of bytes.
///
/// Strings are decoded on access, so an unread section costs two allocations regardless of the number of fields. Names
/// compare case-insensitively (RFC 9110 §5.1).
package struct HTTPFields: Sendable {
    /// The ranges of one field in `bytes`.
    package struct Position: Sendable {
        package var nameStart: UInt32
        package var nameLength: UInt32
        package var valueStart: UInt32
        package var valueLength: UInt32

        package init(nameStart: Int, nameLength: Int, valueStart: Int, valueLength: Int) {
            self.nameStart = UInt32(truncatingIfNeeded: nameStart)
            self.nameLength = UInt32(truncatingIfNeeded: nameLength)
            self.valueStart = UInt32(truncatingIfNeeded: valueStart)
            self.valueLength = UInt32(truncatingIfNeeded: valueLength)
        }
    }

    package private(set) var bytes: [UInt8]
    package private(set) var positions: [Position]

    package init() {
        bytes = []
        positions = []
    }

    /// Adopts a block that a parser has split. All positions must lie within `bytes`.
    package init(bytes: [UInt8], positions: [Position]) {
        self.bytes = bytes
        self.positions = positions
    }

    package init(_ pairs: [(String, String)]) {
        self.init()
        for (name, value) in pairs { append(name, value) }
    }

    package var count: Int { positions.count }
    package var isEmpty: Bool { positions.isEmpty }

    /// Appends a field. The caller has checked name and value for line breaks and NUL.
    package mutating func append(_ name: String, _ value: String) {
        let nameStart = bytes.count
        bytes.append(contentsOf: name.utf8)
        let valueStart = bytes.count
        bytes.append(contentsOf: value.utf8)
        positions.append(
            Position(
                nameStart: nameStart, nameLength: valueStart - nameStart,
                valueStart: valueStart, valueLength: bytes.count - valueStart))
    }

    package func name(at index: Int) -> String {
        let position = positions[index]
        return text(from: position.nameStart, length: position.nameLength)
    }

    package func value(at index: Int) -> String {
        let position = positions[index]
        return text(from: position.valueStart, length: position.valueLength)
    }

    /// The value of the first field with that name, or nil.
    package func firstValue(_ name: String) -> String? {
        for index in positions.indices where isNamed(name, at: index) { return value(at: index) }
        return nil
    }

    /// The values of all fields with that name, in order.
    package func values(_ name: String) -> [String] {
        positions.indices.filter { isNamed(name, at: $0) }.map { value(at: $0) }
    }

    /// The values of all fields with that name, joined with ", " (RFC 9110 §5.3), or nil.
    package func combinedValue(_ name: String) -> String? {
        var result: String?
        for index in positions.indices where isNamed(name, at: index) {
            if let before = result { result = before + ", " + value(at: index) } else { result = value(at: index) }
        }
        return result
    }

    package func contains(_ name: String) -> Bool {
        positions.indices.contains { isNamed(name, at: $0) }
    }

    /// Whether the field at `index` has that name, case-insensitively.
    package func isNamed(_ name: String, at index: Int) -> Bool {
        let position = positions[index]
        guard Int(position.nameLength) == name.utf8.count else { return false }
        var offset = Int(position.nameStart)
        for byte in name.utf8 {
            if asciiLowercase(bytes[offset]) != asciiLowercase(byte) { return false }
            offset += 1
        }
        return true
    }

    private func text(from start: UInt32, length: UInt32) -> String {
        let range = Int(start)..<(Int(start) + Int(length))
        // Octets above 0x7F have no defined encoding. UTF-8 is the usual one today, Latin-1 the former default.
        return String(validating: bytes[range], as: UTF8.self)
            ?? String(decoding: bytes[range].map { UInt16($0) }, as: UTF16.self)
    }
}

extension HTTPFields: Equatable {
    /// Compares names case-insensitively, and values and order exactly. The layout of `bytes` does not matter.
    package static func == (left: HTTPFields, right: HTTPFields) -> Bool {
        guard left.count == right.count else { return false }
        return left.positions.indices.allSatisfy {
            left.isNamed(right.name(at: $0), at: $0) && left.value(at: $0) == right.value(at: $0)
        }
    }
}
