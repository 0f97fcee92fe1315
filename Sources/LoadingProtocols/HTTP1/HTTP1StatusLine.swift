/// A status line, cut but not copied (RFC 9112 §4).
struct HTTP1StatusLine {
    var status: Int
    var minorVersion: Int
    var reasonStart: Int
    var reasonEnd: Int

    /// Reads `bytes[..<end]`, a whole line without its end.
    init(_ bytes: UnsafeRawBufferPointer, end: Int) throws(HTTP1ParseError) {
        if let problem = Self.problem(inPrefix: bytes, end: end) { throw problem }
        // "HTTP/1.1 200", with or without more after a space.
        guard end >= 12, bytes[6] == 0x2E, bytes[8] == Octet.space else { throw .malformedStatusLine }
        let minor = bytes[7] &- 0x30
        let hundreds = bytes[9] &- 0x30
        let tens = bytes[10] &- 0x30
        let ones = bytes[11] &- 0x30
        guard minor < 10, hundreds < 10, hundreds > 0, tens < 10, ones < 10 else { throw .malformedStatusLine }
        minorVersion = minor == 0 ? 0 : 1
        status = Int(hundreds) &* 100 &+ Int(tens) &* 10 &+ Int(ones)
        if end == 12 {
            reasonStart = 12
            reasonEnd = 12
            return
        }
        guard bytes[12] == Octet.space else { throw .malformedStatusLine }
        guard bytes.endOfText(from: 13, to: end) == end else { throw .nulInHead }
        reasonStart = 13
        reasonEnd = bytes.startOfTrailingWhitespace(from: 13, to: end)
    }

    /// What is wrong with the first octets of a status line that may not be whole yet, so that a server with
    /// another protocol is detected at once and not when its connection ends.
    static func problem(inPrefix bytes: UnsafeRawBufferPointer, end: Int) -> HTTP1ParseError? {
        let name: StaticString = "HTTP/"
        for index in 0..<min(end, name.utf8CodeUnitCount) where bytes[index] != name.utf8Start[index] {
            return .malformedStatusLine
        }
        guard end > 5, bytes[5] != 0x31 else { return nil }
        return bytes[5] &- 0x30 < 10 ? .unsupportedVersion : .malformedStatusLine
    }

    func reason(in bytes: UnsafeRawBufferPointer) -> String {
        if reasonStart == reasonEnd { return "" }
        return String(decoding: UnsafeRawBufferPointer(rebasing: bytes[reasonStart..<reasonEnd]), as: UTF8.self)
    }
}
