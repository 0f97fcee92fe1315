/// Parses the date of an `Expires` attribute (RFC 6265bis §5.1.1): its parts in any order, with almost any delimiter.
package enum CookieDate {
    private typealias Token = Slice<UnsafeBufferPointer<UInt8>>

    /// In seconds since 1970. Returns nil if a part is missing or out of range, or if the date does not exist.
    package static func parse(_ text: String) -> Int64? {
        var text = text
        return text.withUTF8 { parse($0) }
    }

    private static func parse(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?
        var rest = text[...]
        while let token = nextToken(&rest) {
            if time == nil, let found = clock(token) {
                time = found
            } else if day == nil, let found = leadingNumber(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = monthNumber(token) {
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

    private static func nextToken(_ rest: inout Token) -> Token? {
        while let first = rest.first, isDelimiter(first) { rest.removeFirst() }
        if rest.isEmpty { return nil }
        let token = rest.prefix { !isDelimiter($0) }
        rest = rest[token.endIndex...]
        return token
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    /// The leading number of a token, if it has that many digits.
    private static func leadingNumber(_ token: Token, digits: ClosedRange<Int>) -> Int? {
        let prefix = token.prefix(while: isDigit)
        guard digits ~= prefix.count else { return nil }
        return prefix.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func monthNumber(_ token: Token) -> Int? {
        guard token.count >= 3, let first = token.first, !isDigit(first) else { return nil }
        return HTTPDate.monthNumber(letters: token.prefix(3).map(asciiLowercase))
    }

    /// Three numbers of one or two digits, separated by colons.
    private static func clock(_ token: Token) -> (hour: Int, minute: Int, second: Int)? {
        guard let (hour, afterHour) = clockField(token), let (minute, afterMinute) = clockField(afterHour),
            let second = leadingNumber(afterMinute, digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    /// A number before a colon, and the rest.
    private static func clockField(_ text: Token) -> (Int, Token)? {
        guard let number = leadingNumber(text, digits: 1...2) else { return nil }
        let rest = text.drop(while: isDigit)
        guard rest.first == UInt8(ascii: ":") else { return nil }
        return (number, rest.dropFirst())
    }
}
