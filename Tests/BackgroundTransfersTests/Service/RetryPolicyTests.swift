import Testing

@testable import BackgroundTransfers

struct RetryPolicyTests {
    // BG-8: errors of connections, names, timeouts and missing networks are transient
    @Test("which errors are transient") func transient() {
        let codes = -3100 ... -1
        #expect(
            codes.filter { RetryPolicy.isTransient($0) }
                == [-1020, -1019, -1018, -1009, -1006, -1005, -1004, -1003, -1001])
        // TLS, URLs, files and cancellation among the others.
        for code in [0, 1, 401, 503, Int.max, Int.min] { #expect(!RetryPolicy.isTransient(code)) }
    }

    // BG-8: doubles up to ten minutes
    @Test(
        "the delay before the next attempt",
        arguments: [
            (1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 64), (8, 128), (9, 256), (10, 512), (11, 600),
            (12, 600), (1000, 600), (Int.max, 600),
            // A damaged journal may have any number.
            (0, 1), (-1, 1), (Int.min, 1),
        ])
    func delay(failures: Int, seconds: Double) {
        #expect(RetryPolicy.delay(after: failures, jitter: 0) == seconds)
        #expect(RetryPolicy.delay(after: failures, jitter: 0.5) == seconds * 1.125)
        #expect(RetryPolicy.delay(after: failures, jitter: 1) == seconds * 1.25)
    }
}
