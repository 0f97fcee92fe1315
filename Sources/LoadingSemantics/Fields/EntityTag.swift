/// An entity tag (RFC 9110 §8.8.3).
struct EntityTag: Equatable {
    var isWeak: Bool
    /// Including the quotation marks.
    var opaque: Substring.UTF8View

    /// Returns nil if the text is not well-formed.
    init?(_ text: String) {
        var rest = text[...].utf8
        isWeak = rest.starts(with: "W/".utf8)
        if isWeak { rest = rest.dropFirst(2) }
        guard rest.count >= 2, rest.first == UInt8(ascii: "\""), rest.last == UInt8(ascii: "\""),
            rest.dropFirst().dropLast().allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F })
        else { return nil }
        opaque = rest
    }

    static func == (left: EntityTag, right: EntityTag) -> Bool {
        left.isWeak == right.isWeak && left.matchesWeakly(right)
    }

    /// RFC 9110 §8.8.3.2.
    func matchesWeakly(_ other: EntityTag) -> Bool { opaque.elementsEqual(other.opaque) }

    /// Weak comparison of two field values. Malformed values match only if they are identical.
    static func matchWeakly(_ left: String, _ right: String) -> Bool {
        guard let leftTag = EntityTag(left), let rightTag = EntityTag(right) else { return left == right }
        return leftTag.matchesWeakly(rightTag)
    }

    /// Strong comparison: both are well-formed, identical, and not weak.
    static func matchStrongly(_ left: String, _ right: String) -> Bool {
        guard let leftTag = EntityTag(left), let rightTag = EntityTag(right) else { return false }
        return !leftTag.isWeak && leftTag == rightTag
    }
}
