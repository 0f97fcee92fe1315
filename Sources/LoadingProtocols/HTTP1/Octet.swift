/// The octets HTTP/1 gives a meaning to.
enum Octet {
    static let nul: UInt8 = 0x00
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let comma: UInt8 = 0x2C
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B

    /// Space or tab: what may stand around a field value (RFC 9110 §5.6.3).
    @inline(__always)
    static func isWhitespace(_ octet: UInt8) -> Bool { octet == space || octet == tab }

    @inline(__always)
    static func isLineEnd(_ octet: UInt8) -> Bool { octet == carriageReturn || octet == lineFeed }

    /// A character of a token, such as a method or a field name (RFC 9110 §5.6.2).
    @inline(__always)
    static func isToken(_ octet: UInt8) -> Bool {
        // One bit for each of the 128 ASCII characters.
        let bits: UInt64 = octet < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return octet < 128 && (bits &>> UInt64(octet & 63)) & 1 != 0
    }
}

/// Reading helpers. Each takes bounds that the caller has proved to lie inside the buffer, and reads nothing outside.
extension UnsafeRawBufferPointer {
    /// The first CR, LF or NUL in `start..<end`, or `end`.
    ///
    /// Eight octets at a time: subtracting 0x20 from each borrows exactly where an octet is below it, and the lowest
    /// borrow is always a true one. Other control characters are stepped over.
    @inline(__always)
    func endOfText(from start: Int, to end: Int) -> Int {
        var index = start
        while index &+ 8 <= end {
            let word = UInt64(littleEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let controls = (word &- 0x2020_2020_2020_2020) & ~word & 0x8080_8080_8080_8080
            if controls == 0 {
                index &+= 8
                continue
            }
            index &+= controls.trailingZeroBitCount &>> 3
            let octet = self[index]
            if Octet.isLineEnd(octet) || octet == Octet.nul { return index }
            index &+= 1
        }
        while index < end {
            let octet = self[index]
            if Octet.isLineEnd(octet) || octet == Octet.nul { return index }
            index &+= 1
        }
        return index
    }

    /// The first octet in `start..<end` that is no token character, or `end`.
    ///
    /// Eight octets at a time as long as they are letters and hyphens, as in nearly all names. Adding to an octet below
    /// 0x80 what lacks from a bound to 0x80 sets its top bit exactly if it reaches the bound, and carries nothing over.
    @inline(__always)
    func endOfToken(from start: Int, to end: Int) -> Int {
        var index = start
        while index &+ 8 <= end {
            let word = UInt64(littleEndian: loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let octets = word & 0x7F7F_7F7F_7F7F_7F7F
            let lower = octets | 0x2020_2020_2020_2020
            let letters = (lower &+ 0x1F1F_1F1F_1F1F_1F1F) & ~(lower &+ 0x0505_0505_0505_0505)
            let hyphens = ~((octets ^ 0x2D2D_2D2D_2D2D_2D2D) &+ 0x7F7F_7F7F_7F7F_7F7F)
            let others = ~((letters | hyphens) & ~word) & 0x8080_8080_8080_8080
            if others == 0 {
                index &+= 8
                continue
            }
            index &+= others.trailingZeroBitCount &>> 3
            guard Octet.isToken(self[index]) else { return index }
            index &+= 1
        }
        while index < end, Octet.isToken(self[index]) { index &+= 1 }
        return index
    }

    @inline(__always)
    func endOfWhitespace(from start: Int, to end: Int) -> Int {
        var index = start
        while index < end, Octet.isWhitespace(self[index]) { index &+= 1 }
        return index
    }

    /// Where the whitespace begins that ends `start..<end`, or `end`.
    @inline(__always)
    func startOfTrailingWhitespace(from start: Int, to end: Int) -> Int {
        var index = end
        while index > start, Octet.isWhitespace(self[index &- 1]) { index &-= 1 }
        return index
    }

    /// Whether `start..<end` is `text` without regard to case; `text` is in lower case and holds only letters and `-`.
    ///
    /// Setting 0x20 makes capitals small and leaves the rest of `text`'s characters alone. The one other octet it takes
    /// for one of them is CR, for `-`, and no CR is left in a name or a value.
    @inline(__always)
    func matches(_ text: StaticString, from start: Int, to end: Int) -> Bool {
        let count = text.utf8CodeUnitCount
        guard end &- start == count else { return false }
        var offset = 0
        while offset &+ 8 <= count {
            let word = loadUnaligned(fromByteOffset: start &+ offset, as: UInt64.self) | 0x2020_2020_2020_2020
            let wanted = UnsafeRawPointer(text.utf8Start).loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if word != wanted { return false }
            offset &+= 8
        }
        while offset < count {
            if self[start &+ offset] | 0x20 != text.utf8Start[offset] { return false }
            offset &+= 1
        }
        return true
    }

    /// The octets from `start` on. In debug builds the slices of the standard library cost a hundred times as much.
    @inline(__always)
    func part(from start: Int, count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: baseAddress?.advanced(by: start), count: count)
    }

    /// Drops `count` octets from the front, at most all.
    @inline(__always)
    mutating func dropPrefix(_ count: Int) {
        let dropped = count < 0 ? 0 : count < self.count ? count : self.count
        self = part(from: dropped, count: self.count &- dropped)
    }
}

extension [UInt8] {
    /// `withUnsafeBytes`, with the error's type kept.
    @inline(__always)
    func withOctets<Result>(
        _ body: (UnsafeRawBufferPointer) throws(HTTP1ParseError) -> Result
    ) throws(HTTP1ParseError) -> Result {
        try withUnsafeBufferPointer { octets throws(HTTP1ParseError) in try body(UnsafeRawBufferPointer(octets)) }
    }
}
