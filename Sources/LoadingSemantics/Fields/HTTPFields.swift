internal import CLoadingOctets

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
        // One allocation for the usual few fields, not one for each growth.
        if positions.isEmpty { bytes.reserveCapacity(max(64, name.utf8.count &+ value.utf8.count)) }
        var (name, value) = (name, value)
        let nameStart = bytes.count
        name.withUTF8 { bytes.append(contentsOf: $0) }
        let valueStart = bytes.count
        value.withUTF8 { bytes.append(contentsOf: $0) }
        positions.append(
            Position(
                nameStart: nameStart, nameLength: valueStart - nameStart,
                valueStart: valueStart, valueLength: bytes.count - valueStart))
    }

    /// Appends a field whose value need not be text.
    package mutating func append(_ name: String, octets: ArraySlice<UInt8>) {
        let start = bytes.count
        bytes += name.utf8
        bytes += octets
        positions.append(
            Position(
                nameStart: start, nameLength: bytes.count - start - octets.count,
                valueStart: bytes.count - octets.count, valueLength: octets.count))
    }

    /// Appends the fields of another section. Copies its block as it is, so that values that are not UTF-8 are
    /// unchanged.
    package mutating func append(contentsOf other: HTTPFields) {
        if isEmpty {
            self = other
            return
        }
        let shift = UInt32(truncatingIfNeeded: bytes.count)
        bytes += other.bytes
        positions.reserveCapacity(count + other.count)
        for var position in other.positions {
            position.nameStart &+= shift
            position.valueStart &+= shift
            positions.append(position)
        }
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
        firstIndex(of: name).map { value(at: $0) }
    }

    /// The octets of the value. For values that are opaque: different octets can be the same text.
    package func octets(at index: Int) -> ArraySlice<UInt8> {
        let position = positions[index]
        let start = Int(position.valueStart)
        return bytes[start..<start + Int(position.valueLength)]
    }

    /// The octets of the value of the first field with that name, or nil.
    package func firstOctets(_ name: String) -> ArraySlice<UInt8>? { firstIndex(of: name).map { octets(at: $0) } }

    /// Calls `body` with the octets of the value, which are valid only meanwhile.
    @inline(__always)
    func withOctets(at index: Int, _ body: (UnsafeBufferPointer<UInt8>) -> Void) {
        let position = positions[index]
        bytes.withUnsafeBufferPointer { block in
            let start = Int(position.valueStart)
            body(UnsafeBufferPointer(rebasing: block[start..<start + Int(position.valueLength)]))
        }
    }

    /// The first letter of the name, in lower case. A cheap look before the comparison of names; 0 without a name.
    @inline(__always)
    func firstLetter(ofNameAt index: Int) -> UInt8 {
        let position = positions[index]
        return position.nameLength == 0 ? 0 : asciiLowercase(bytes[Int(position.nameStart)])
    }

    /// The values of all fields with that name, in order.
    package func values(_ name: String) -> [String] {
        guard let first = firstIndex(of: name) else { return [] }
        return (first..<count).filter { isNamed(name, at: $0) }.map { value(at: $0) }
    }

    /// The values of all fields with that name, joined with ", " (RFC 9110 §5.3), or nil.
    package func combinedValue(_ name: String) -> String? {
        guard let first = firstIndex(of: name) else { return nil }
        var result = value(at: first)
        for index in (first + 1)..<positions.count where isNamed(name, at: index) {
            result += ", " + value(at: index)
        }
        return result
    }

    package func contains(_ name: String) -> Bool {
        firstIndex(of: name) != nil
    }

    /// The index of the first field with that name, or nil.
    package func firstIndex(of name: String) -> Int? {
        // No call is needed to find nothing in nothing, as in the request of a program that sets no fields.
        if positions.isEmpty { return nil }
        var name = name
        return name.withUTF8 { name in
            bytes.withUnsafeBufferPointer { block in
                positions.withUnsafeBytes { positions in
                    // A position is what `clo_field` is in C.
                    let fields = positions.baseAddress?.assumingMemoryBound(to: clo_field.self)
                    let index = clo_index_of_field(
                        block.baseAddress, block.count, fields, count, name.baseAddress, name.count)
                    return index < count ? index : nil
                }
            }
        }
    }

    /// Whether the field at `index` has that name, case-insensitively.
    package func isNamed(_ name: String, at index: Int) -> Bool {
        var name = name
        return name.withUTF8 { name in
            bytes.withUnsafeBufferPointer { Self.isNamed(name, positions[index], in: $0) }
        }
    }

    static func isNamed(
        _ name: UnsafeBufferPointer<UInt8>, _ position: Position, in block: UnsafeBufferPointer<UInt8>
    ) -> Bool {
        // All positions lie within the block; the second condition only protects memory if one did not.
        guard Int(position.nameLength) == name.count, Int(position.nameStart) <= block.count &- name.count else {
            return false
        }
        return clo_equals_ignoring_case(
            block.baseAddress?.advanced(by: Int(position.nameStart)), name.baseAddress, name.count)
    }

    private func text(from start: UInt32, length: UInt32) -> String {
        let range = Int(start)..<(Int(start) + Int(length))
        let ascii = bytes.withUnsafeBufferPointer { block -> String? in
            let octets = UnsafeBufferPointer(rebasing: block[range])
            let isASCII = clo_end_of_ascii(octets.baseAddress, 0, octets.count) == octets.count
            return isASCII ? String(decoding: octets, as: UTF8.self) : nil
        }
        // Nearly all text. Validation costs five times as much.
        if let ascii { return ascii }
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
