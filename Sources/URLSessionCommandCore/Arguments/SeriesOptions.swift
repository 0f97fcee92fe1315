/// How several URLs are loaded, and how often.
package struct SeriesOptions: Equatable, Sendable {
    package var isParallel = false
    /// The most loads at once.
    package var maximumParallel = 50
    /// Ends with the first load that fails.
    package var failsEarly = false

    package init() {}
}

/// `--retry` and its kin. Times are in seconds.
package struct RetryOptions: Equatable, Sendable {
    /// The number of tries after the first.
    package var count = 0
    /// Whether the command line asks for it, and not only the default file. A body that cannot be read again is then
    /// refused.
    package var isGiven = false
    /// The time between two tries; nil for one that doubles.
    package var delay: Double?
    /// The time since the start in which a try may begin; nil for any.
    package var maximumTime: Double?
    package var afterAllErrors = false
    package var afterRefusal = false

    package init() {}
}

/// A version of TLS.
package enum TLSVersionNumber: String, Equatable, Sendable, Comparable {
    case tls10 = "1.0"
    case tls11 = "1.1"
    case tls12 = "1.2"
    case tls13 = "1.3"

    package static func < (left: TLSVersionNumber, right: TLSVersionNumber) -> Bool { left.rawValue < right.rawValue }

    static func written(_ value: String, _ option: String) throws(UsageError) -> TLSVersionNumber {
        guard let version = TLSVersionNumber(rawValue: value) else {
            throw UsageError("\(option) is 1.0, 1.1, 1.2 or 1.3, not '\(value)'")
        }
        return version
    }
}
