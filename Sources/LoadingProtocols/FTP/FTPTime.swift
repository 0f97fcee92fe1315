internal import LoadingSemantics

/// The time in a reply to `MDTM` (RFC 3659 §2.3): `YYYYMMDDHHMMSS` in UTC, perhaps with a fraction.
package enum FTPTime {
    /// In seconds since 1970, rounded down. Nil if the text is no time.
    package static func seconds(_ text: String) -> Int64? {
        let digits = Array(text.utf8.prefix { $0 != UInt8(ascii: ".") })
        guard digits.count == 14, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + Int($1 - 0x30) } }
        let (year, month, day) = (number(0..<4), number(4..<6), number(6..<8))
        let (hour, minute, second) = (number(8..<10), number(10..<12), number(12..<14))
        guard 1...12 ~= month, 1...HTTPDate.length(ofMonth: month, year: year) ~= day, hour < 24, minute < 60,
            // A leap second.
            second <= 60
        else { return nil }
        return HTTPDate.days(year: year, month: month, day: day) * 86400
            + Int64(hour * 3600 + minute * 60 + second)
    }
}
