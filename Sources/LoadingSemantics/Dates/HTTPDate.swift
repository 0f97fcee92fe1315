/// Dates of HTTP fields (RFC 9110 §5.6.7), as seconds since 1970, by integer arithmetic alone.
package enum HTTPDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    private static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let dayNames = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    /// Reads an IMF-fixdate, an RFC 850 date or a date of C's `asctime`; nil for anything else.
    ///
    /// The name of the day is not compared with the date: a wrong one is the sender's slip, and the date is clear.
    package static func parse(_ text: String) -> Int64? {
        // All three become words when cut at spaces, the comma and the hyphens of RFC 850.
        let words = text.utf8.split { $0 == 0x20 || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "-") }
        switch words.count {
        case 6:
            guard isGMT(words[5]) else { return nil }
            return seconds(year: words[3], month: words[2], day: words[1], time: words[4])
        case 5:
            return seconds(year: words[4], month: words[1], day: words[2], time: words[3])
        default:
            return nil
        }
    }

    /// The IMF-fixdate of a moment, such as `Sun, 06 Nov 1994 08:49:37 GMT`. Years outside 0…9999 are clamped.
    package static func text(_ seconds: Int64) -> String {
        // 0000-01-01 and 9999-12-31T23:59:59.
        let seconds = min(max(seconds, -62_167_219_200), 253_402_300_799)
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

    private typealias Word = Substring.UTF8View

    private static func seconds(year: Word, month: Word, day: Word, time: Word) -> Int64? {
        let clock = time.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard let day = number(day, 1...2), let month = monthNumber(month), let year = yearNumber(year),
            clock.count == 3,
            let hour = number(clock[0], 2...2), let minute = number(clock[1], 2...2),
            let second = number(clock[2], 2...2),
            (1...length(ofMonth: month, year: year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        return days(year: year, month: month, day: day) * 86400 + Int64(hour * 3600 + minute * 60 + second)
    }

    private static func number(_ word: Word, _ digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(word.count), word.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
        return word.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func yearNumber(_ word: Word) -> Int? {
        if let year = number(word, 4...4) { return year }
        // Two digits: the century in which the web lives (RFC 6265 §5.1.1 draws the same line).
        return number(word, 2...2).map { $0 >= 70 ? 1900 + $0 : 2000 + $0 }
    }

    private static func monthNumber(_ word: Word) -> Int? {
        monthNumber(letters: word.map(asciiLowercase))
    }

    /// From 1 to 12, by the first three letters of an English month's name in lower case.
    static func monthNumber(letters: [UInt8]) -> Int? {
        months.firstIndex { $0.utf8.elementsEqual(letters) }.map { $0 + 1 }
    }

    private static func isGMT(_ word: Word) -> Bool {
        let lower = word.map(asciiLowercase)
        return lower.elementsEqual("gmt".utf8) || lower.elementsEqual("utc".utf8)
    }

    static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }

    /// Days since 1970 of a date of the Gregorian calendar. The year is counted from March, so that the leap day is
    /// its last.
    static func days(year: Int, month: Int, day: Int) -> Int64 {
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
