import Foundation
internal import LoadingSemantics

/// The field `Retry-After` (RFC 9110 §10.2.3).
enum RetryAfter {
    /// The longest time that is waited for, in seconds: six hours, as in curl.
    private static let longest = 21_600.0

    /// Seconds from now; nil if the value is neither a number nor a date.
    static func seconds(_ value: String, at now: Date) -> Double? {
        let seconds: Double
        if let count = Int(value), count >= 0 {
            seconds = Double(count)
        } else if let date = HTTPDate.parse(value, at: Int64(now.timeIntervalSince1970)) {
            seconds = max(0, Double(date) - now.timeIntervalSince1970)
        } else {
            return nil
        }
        return min(seconds, longest)
    }
}
