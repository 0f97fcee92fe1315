internal import Foundation

/// The date in an `Expires` attribute, read as RFC 6265 §5.1.1 says: the pieces in any order, nearly any way apart.
/// Nil if one is missing or out of range.
func cookieDate(_ text: String) -> Date? {
    var time: (hour: Int, minute: Int, second: Int)?
    var day: Int?
    var month: Int?
    var year: Int?
    for token in text.utf8.split(whereSeparator: isCookieDateDelimiter) {
        if time == nil, let found = cookieTime(token) {
            time = found
        } else if day == nil, let found = leadingNumber(token, digits: 1...2) {
            day = found
        } else if month == nil, let found = cookieMonth(token) {
            month = found
        } else if year == nil, let found = leadingNumber(token, digits: 2...4) {
            year = found
        }
    }
    guard let time, let day, let month, var year else { return nil }
    if 70...99 ~= year { year += 1900 } else if 0...69 ~= year { year += 2000 }
    guard 1...31 ~= day, year >= 1601, time.hour <= 23, time.minute <= 59, time.second <= 59 else { return nil }
    let seconds = daysSince1970(year: year, month: month, day: day) * 86_400
    return Date(timeIntervalSince1970: Double(seconds + time.hour * 3600 + time.minute * 60 + time.second))
}

private func isCookieDateDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
}

private func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

/// The number a token begins with, if it has that many digits and no more.
private func leadingNumber(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
    let prefix = token.prefix(while: isDigit)
    guard digits ~= prefix.count else { return nil }
    return prefix.reduce(0) { $0 * 10 + Int($1 - 0x30) }
}

private func cookieTime(_ token: Substring.UTF8View) -> (hour: Int, minute: Int, second: Int)? {
    let parts = token.split(separator: 0x3A, maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].allSatisfy(isDigit), parts[1].allSatisfy(isDigit),
        let hour = leadingNumber(parts[0], digits: 1...2), let minute = leadingNumber(parts[1], digits: 1...2),
        let second = leadingNumber(parts[2], digits: 1...2)
    else { return nil }
    return (hour, minute, second)
}

private func cookieMonth(_ token: Substring.UTF8View) -> Int? {
    let names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    guard let prefix = String(token.prefix(3)) else { return nil }
    return names.firstIndex(of: prefix.lowercased()).map { $0 + 1 }
}

/// Days from 1 January 1970 in the Gregorian calendar. Years count from March, so that a leap day ends one.
private func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    let marchYear = month > 2 ? year : year - 1
    let era = marchYear / 400
    let yearOfEra = marchYear % 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
}
