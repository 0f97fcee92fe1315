/// Which errors of a background transfer are transient, and when the next attempt begins (BG-8).
package enum RetryPolicy {
    /// Codes of `NSURLErrorDomain`: of connections, name resolution, timeouts, and missing networks. Errors of
    /// certificates, URLs, files and responses are final.
    private static let transient: Set<Int> = [-1001, -1003, -1004, -1005, -1006, -1009, -1018, -1019, -1020]

    package static func isTransient(_ code: Int) -> Bool { transient.contains(code) }

    /// Seconds: doubles from 1 to 600, and up to a quarter more, so that transfers that failed together do not return
    /// together.
    ///
    /// - Parameters:
    ///   - failures: The number of attempts that failed without progress, at least 1.
    ///   - jitter: A random number from 0 to 1.
    package static func delay(after failures: Int, jitter: Double) -> Double {
        let exponent = min(max(failures, 1) - 1, 10)
        return min(Double(1 << exponent), 600) * (1 + jitter / 4)
    }
}
