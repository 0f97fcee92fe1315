import Foundation
internal import LoadingSemantics

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The condition of `-z`: the response is wanted only if it is newer than a date, or with a minus sign, not newer.
package struct TimeCondition: Equatable, Sendable {
    package var isOlder: Bool
    /// Seconds since 1970.
    package var time: Int64

    /// - Parameter text: A date, or the name of a file whose time counts, after an optional `-`, `+` or `=`.
    package init(_ text: String) throws(UsageError) {
        isOlder = text.hasPrefix("-")
        let written = isOlder || text.hasPrefix("+") || text.hasPrefix("=") ? String(text.dropFirst()) : text
        if let time = Self.date(written) {
            self.time = time
            return
        }
        var status = stat()
        guard stat(written, &status) == 0 else {
            throw UsageError(
                "-z: '\(written)' is neither a file nor a date such as 2024-12-31 or 'Tue, 31 Dec 2024 08:00:00 GMT'")
        }
        time = Int64(status.st_mtim.tv_sec)
    }

    var field: (name: String, value: String) {
        (isOlder ? "If-Unmodified-Since" : "If-Modified-Since", HTTPDate.text(time))
    }

    /// Whether a response with this `Last-Modified` is wanted. A server may ignore the field.
    func isMet(lastModified: String?) -> Bool {
        guard let lastModified, let date = HTTPDate.parse(lastModified, at: nil) else { return true }
        return isOlder ? date < time : date > time
    }

    /// A date of HTTP, `2024-12-31`, `20241231`, or `31 Dec 2024`, the latter three with an optional time as `08:00` or
    /// `08:00:00`. All are in UTC.
    static func date(_ text: String) -> Int64? {
        if let time = HTTPDate.parse(text, at: nil) { return time }
        var words = text.split { $0 == " " || $0 == "T" }
        if let last = words.last, ["GMT", "UTC", "Z"].contains(last) { words.removeLast() }
        var time = 0
        if let last = words.last, last.contains(":") {
            let parts = last.drop { $0 == " " }.split(separator: ":").map {
                Int($0.hasSuffix("Z") ? $0.dropLast() : $0)
            }
            guard (2...3).contains(parts.count), let hour = parts[0], let minute = parts[1],
                let second = parts.count == 3 ? parts[2] : 0, 0..<24 ~= hour, 0..<60 ~= minute, 0...60 ~= second
            else { return nil }
            time = hour * 3600 + minute * 60 + second
            words.removeLast()
        }
        guard let day = day(words) else { return nil }
        return day * 86_400 + Int64(time)
    }

    /// Days since 1970.
    private static func day(_ words: [Substring]) -> Int64? {
        var parts: [Int]
        if words.count == 1, words[0].contains("-") {
            parts = words[0].split(separator: "-").compactMap { Int($0) }
        } else if words.count == 1, words[0].count == 8, let number = Int(words[0]) {
            parts = [number / 10_000, number / 100 % 100, number % 100]
        } else if words.count == 3, let day = Int(words[0]), let year = Int(words[2]) {
            let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
            guard let month = months.firstIndex(of: words[1].lowercased()) else { return nil }
            parts = [year, month + 1, day]
        } else {
            return nil
        }
        guard parts.count == 3, 1970...9999 ~= parts[0], 1...12 ~= parts[1],
            1...HTTPDate.length(ofMonth: parts[1], year: parts[0]) ~= parts[2]
        else { return nil }
        return HTTPDate.days(year: parts[0], month: parts[1], day: parts[2])
    }
}
