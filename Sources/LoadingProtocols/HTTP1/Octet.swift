internal import CLoadingOctets

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
    static func isWhitespace(_ octet: UInt8) -> Bool { clo_is_whitespace(octet) }

    @inline(__always)
    static func isLineEnd(_ octet: UInt8) -> Bool { octet == carriageReturn || octet == lineFeed }

    /// A character of a token, such as a method or a field name (RFC 9110 §5.6.2).
    @inline(__always)
    static func isToken(_ octet: UInt8) -> Bool { clo_is_token(octet) }
}

/// Reading helpers. Each takes bounds that the caller has proved to lie inside the buffer, and reads nothing outside.
extension UnsafeRawBufferPointer {
    /// The first CR, LF or NUL in `start..<end`, or `end`.
    @inline(__always)
    func endOfText(from start: Int, to end: Int) -> Int {
        clo_end_of_text(octets, start, end)
    }

    /// The first octet in `start..<end` that is no token character, or `end`.
    @inline(__always)
    func endOfToken(from start: Int, to end: Int) -> Int {
        clo_end_of_token(octets, start, end)
    }

    @inline(__always)
    func endOfWhitespace(from start: Int, to end: Int) -> Int {
        clo_end_of_whitespace(octets, start, end)
    }

    /// Where the whitespace begins that ends `start..<end`, or `end`.
    @inline(__always)
    func startOfTrailingWhitespace(from start: Int, to end: Int) -> Int {
        clo_start_of_trailing_whitespace(octets, start, end)
    }

    /// Whether `start..<end` is `text`, but for the case of letters.
    @inline(__always)
    func matches(_ text: StaticString, from start: Int, to end: Int) -> Bool {
        let count = text.utf8CodeUnitCount
        return end &- start == count && clo_equals_ignoring_case(octets?.advanced(by: start), text.utf8Start, count)
    }

    /// For the loops in C. Nil only if the buffer is empty.
    @inline(__always)
    var octets: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }

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
