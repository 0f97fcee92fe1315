/// HTTP dates (RFC 9110 §5.6.7) in seconds since 1970, by integer arithmetic.
package enum HTTPDate {
    private static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let fullDayNames = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]

    /// Parses an IMF-fixdate, an RFC 850 date or an asctime date, strictly by the grammar. Returns nil for anything
    /// else, which a cache treats as a date in the past (RFC 9111 §5.3).
    ///
    /// Case-insensitive (RFC 9111 §4.2). The day name is not compared with the date, because the date is unambiguous
    /// without it.
    ///
    /// - Parameter now: The time when the date was received, in seconds since 1970, for the two-digit years of RFC 850.
    ///   Nil, or a time out of range, if it is unknown: years from 70 on are then in the 1900s (as RFC 6265 §5.1.1).
    package static func parse(_ text: String, at now: Int64?) -> Int64? {
        let text = Array(text.utf8)
        return text.firstIndex(of: UInt8(ascii: ",")) == nil ? asctimeDate(text) : dateWithComma(text, at: now)
    }

    /// The date that is the value of a field: nearly always an IMF-fixdate, for which no string is made.
    static func parse(_ fields: HTTPFields, at index: Int, received: Int64?) -> Int64? {
        var date: Int64?
        fields.withOctets(at: index) { date = fixdate($0) }
        return date ?? parse(fields.value(at: index), at: received)
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, in exactly these 29 octets.
    private static func fixdate(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard text.count == 29, let day = number(text, at: 5, count: 2), let year = number(text, at: 12, count: 4),
            let hour = number(text, at: 17, count: 2), let minute = number(text, at: 20, count: 2),
            let second = number(text, at: 23, count: 2), hour < 24, minute < 60, second <= 60,
            text[3] == UInt8(ascii: ","), text[4] == 0x20, text[7] == 0x20, text[11] == 0x20, text[16] == 0x20,
            text[19] == UInt8(ascii: ":"), text[22] == UInt8(ascii: ":"), text[25] == 0x20,
            letters(text, at: 26) == letters("gmt"), let month = month(letters(text, at: 8)),
            isDay(letters(text, at: 0))
        else { return nil }
        return seconds(year: year, month: month, day: day, time: hour * 3600 + minute * 60 + second)
    }

    @inline(__always)
    private static func number(_ text: UnsafeBufferPointer<UInt8>, at start: Int, count: Int) -> Int? {
        var number = 0
        for index in start..<start + count {
            let digit = text[index] &- 0x30
            guard digit < 10 else { return nil }
            number = number * 10 + Int(digit)
        }
        return number
    }

    /// Three octets, letters of which are in lower case.
    @inline(__always)
    private static func letters(_ text: UnsafeBufferPointer<UInt8>, at start: Int) -> UInt32 {
        UInt32(asciiLowercase(text[start])) << 16 | UInt32(asciiLowercase(text[start + 1])) << 8
            | UInt32(asciiLowercase(text[start + 2]))
    }

    @inline(__always)
    private static func letters(_ name: StaticString) -> UInt32 {
        letters(UnsafeBufferPointer(start: name.utf8Start, count: 3), at: 0)
    }

    /// From 1 to 12.
    private static func month(_ name: UInt32) -> Int? {
        switch name {
        case letters("jan"): 1
        case letters("feb"): 2
        case letters("mar"): 3
        case letters("apr"): 4
        case letters("may"): 5
        case letters("jun"): 6
        case letters("jul"): 7
        case letters("aug"): 8
        case letters("sep"): 9
        case letters("oct"): 10
        case letters("nov"): 11
        case letters("dec"): 12
        default: nil
        }
    }

    private static func isDay(_ name: UInt32) -> Bool {
        switch name {
        case letters("sun"), letters("mon"), letters("tue"), letters("wed"), letters("thu"), letters("fri"),
            letters("sat"):
            true
        default: false
        }
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT` or `Sunday, 06-Nov-94 08:49:37 GMT`.
    private static func dateWithComma(_ text: [UInt8], at now: Int64?) -> Int64? {
        var reader = Reader(text)
        let isFixdate = reader.name(of: dayNames, before: ",") != nil
        if !isFixdate, reader.name(of: fullDayNames, before: ",") == nil { return nil }
        let separator: Unicode.Scalar = isFixdate ? " " : "-"
        guard reader.take(" "), let day = reader.number(2), reader.take(separator),
            let month = reader.name(of: monthNames, before: separator),
            let year = reader.number(isFixdate ? 4 : 2), reader.take(" "),
            let time = reader.timeOfDay(), reader.take(" "), reader.name(of: ["GMT"], before: nil) != nil
        else { return nil }
        if isFixdate { return seconds(year: year, month: month + 1, day: day, time: time) }
        return time850(lastDigits: year, month: month + 1, day: day, time: time, at: now)
    }

    /// `Sun Nov  6 08:49:37 1994`.
    private static func asctimeDate(_ text: [UInt8]) -> Int64? {
        var reader = Reader(text)
        guard reader.name(of: dayNames, before: " ") != nil, let month = reader.name(of: monthNames, before: " "),
            let day = reader.take(" ") ? reader.number(1) : reader.number(2), reader.take(" "),
            let time = reader.timeOfDay(), reader.take(" "), let year = reader.number(4), reader.isAtEnd
        else { return nil }
        return seconds(year: year, month: month + 1, day: day, time: time)
    }

    /// The IMF-fixdate of a time, such as `Sun, 06 Nov 1994 08:49:37 GMT`. Years outside 0…9999 are clamped.
    package static func text(_ seconds: Int64) -> String {
        let seconds = min(max(seconds, earliest), latest)
        var days = seconds / 86400
        var rest = seconds % 86400
        if rest < 0 {
            rest += 86400
            days -= 1
        }
        let weekday = Int(((days + 4) % 7 + 7) % 7)
        let (year, month, day) = civil(days: days)
        return "\(dayNames[weekday]), \(padded(day, 2)) \(monthNames[month - 1]) \(padded(year, 4)) "
            + "\(padded(Int(rest / 3600), 2)):\(padded(Int(rest / 60 % 60), 2)):\(padded(Int(rest % 60), 2)) GMT"
    }

    private static func seconds(year: Int, month: Int, day: Int, time: Int) -> Int64? {
        guard (1...length(ofMonth: month, year: year)).contains(day) else { return nil }
        return days(year: year, month: month, day: day) * 86400 + Int64(time)
    }

    /// The latest time with that two-digit year that is at most 50 years in the future (RFC 9110 §5.6.7).
    private static func time850(lastDigits: Int, month: Int, day: Int, time: Int, at now: Int64?) -> Int64? {
        guard let now, earliest...latest ~= now else {
            return seconds(
                year: lastDigits >= 70 ? 1900 + lastDigits : 2000 + lastDigits, month: month, day: day, time: time)
        }
        let days = floorDivide(Int(now), 86400)
        let today = civil(days: Int64(days))
        // 29 February may not exist 50 years later: the day after is as far away.
        let limit =
            self.days(year: today.year + 50, month: today.month, day: today.day) * 86400
            + (now - Int64(days) * 86400)
        let century = (today.year + 50) / 100 * 100
        // A leap day may be valid in one century only.
        return [century, century - 100].lazy.compactMap {
            seconds(year: $0 + lastDigits, month: month, day: day, time: time)
        }.first { $0 <= limit }
    }

    /// 0000-01-01 and 9999-12-31T23:59:59.
    private static let earliest: Int64 = -62_167_219_200
    private static let latest: Int64 = 253_402_300_799

    /// From 1 to 12, by the first three letters of the English name in lower case.
    static func monthNumber(letters: [UInt8]) -> Int? {
        monthNames.firstIndex { $0.utf8.lazy.map(asciiLowercase).elementsEqual(letters) }.map { $0 + 1 }
    }

    /// Consumes the parts of a date from the front.
    private struct Reader {
        private var rest: ArraySlice<UInt8>

        init(_ text: [UInt8]) { rest = text[...] }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        /// A number of exactly that many digits.
        mutating func number(_ count: Int) -> Int? {
            let digits = rest.prefix(count)
            guard digits.count == count, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
            rest.removeFirst(count)
            return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        }

        /// The index of the name before that character, which is consumed too, or before the end.
        mutating func name(of names: [String], before end: Unicode.Scalar?) -> Int? {
            let word = end.map { end in rest.prefix { $0 != UInt8(ascii: end) } } ?? rest
            guard end == nil || word.endIndex < rest.endIndex,
                let index = names.firstIndex(where: { name in
                    name.utf8.lazy.map(asciiLowercase).elementsEqual(word.lazy.map(asciiLowercase))
                })
            else { return nil }
            rest = rest[min(word.endIndex + (end == nil ? 0 : 1), rest.endIndex)...]
            return index
        }

        /// In seconds. A leap second counts as the first second of the next minute.
        mutating func timeOfDay() -> Int? {
            guard let hour = number(2), take(":"), let minute = number(2), take(":"), let second = number(2),
                hour < 24, minute < 60, second <= 60
            else { return nil }
            return hour * 3600 + minute * 60 + second
        }
    }

    package static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// Days since 1970 of a Gregorian date. Years are counted from March, so that the leap day is the last of a year.
    package static func days(year: Int, month: Int, day: Int) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let leapDays = floorDivide(shifted, 4) - floorDivide(shifted, 100) + floorDivide(shifted, 400)
        return Int64(shifted * 365 + leapDays + dayOfYear - 719_468)
    }

    /// The inverse of `days`, by 400-year cycles of 146,097 days.
    private static func civil(days: Int64) -> (year: Int, month: Int, day: Int) {
        let shifted = Int(days) + 719_468
        let cycle = floorDivide(shifted, 146_097)
        let dayOfCycle = shifted - cycle * 146_097
        let yearOfCycle =
            (dayOfCycle - dayOfCycle / 1460 + dayOfCycle / 36524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func floorDivide(_ number: Int, _ divisor: Int) -> Int {
        number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}
