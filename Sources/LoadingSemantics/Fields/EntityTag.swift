/// An entity tag (RFC 9110 §8.8.3), in octets: it is opaque, and may be neither ASCII nor UTF-8.
struct EntityTag: Equatable {
    var isWeak: Bool
    /// Including the quotation marks.
    var opaque: ArraySlice<UInt8>

    /// Returns nil if the value is not well-formed.
    init?(_ value: ArraySlice<UInt8>) {
        isWeak = value.starts(with: "W/".utf8)
        opaque = isWeak ? value.dropFirst(2) : value
        guard opaque.count >= 2, opaque.first == UInt8(ascii: "\""), opaque.last == UInt8(ascii: "\""),
            opaque.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F })
        else { return nil }
    }

    /// RFC 9110 §8.8.3.2.
    func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

    /// Weak comparison of two field values. Malformed values match only if they are identical.
    static func matchWeakly(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        guard let leftTag = EntityTag(left), let rightTag = EntityTag(right) else { return left == right }
        return leftTag.matchesWeakly(rightTag)
    }

    /// Strong comparison: both are well-formed, identical, and not weak.
    static func matchStrongly(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        guard let leftTag = EntityTag(left), let rightTag = EntityTag(right) else { return false }
        return !leftTag.isWeak && leftTag == rightTag
    }
}
