/// The date of an `Expires` attribute (RFC 6265bis §5.1.1): its pieces in any order, and nearly anything between them.
package enum CookieDate {
    private typealias Token = Substring.UTF8View

    /// Seconds since 1970, or nil if a piece is missing or out of range, or if there is no such day.
    package static func parse(_ text: String) -> Int64? {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        for token in text[...].utf8.split(whereSeparator: isDelimiter) {
            if time == nil, let found = clock(token) {
                time = found
            } else if day == nil, let found = leadingNumber(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = HTTPDate.monthNumber(letters: token.prefix(3).map(asciiLowercase)) {
                month = found
            } else if year == nil, let found = leadingNumber(token, digits: 2...4) {
                year = found
            }
        }
        guard let time, let day, let month, var year else { return nil }
        if 70...99 ~= year { year += 1900 } else if 0...69 ~= year { year += 2000 }
        guard year >= 1601, 1...HTTPDate.length(ofMonth: month, year: year) ~= day,
            time.hour <= 23, time.minute <= 59, time.second <= 59
        else { return nil }
        return HTTPDate.days(year: year, month: month, day: day) * 86400
            + Int64(time.hour * 3600 + time.minute * 60 + time.second)
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    /// The number a token begins with, if it has that many digits and no more.
    private static func leadingNumber(_ token: Token, digits: ClosedRange<Int>) -> Int? {
        let prefix = token.prefix(while: isDigit)
        guard digits ~= prefix.count else { return nil }
        return prefix.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func clock(_ token: Token) -> (hour: Int, minute: Int, second: Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(isDigit), parts[1].allSatisfy(isDigit),
            let hour = leadingNumber(parts[0], digits: 1...2), let minute = leadingNumber(parts[1], digits: 1...2),
            let second = leadingNumber(parts[2], digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }
}
