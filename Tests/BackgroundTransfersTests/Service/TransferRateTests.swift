import Testing

@testable import BackgroundTransfers

struct TransferRateTests {
    private static let second: Int64 = 1_000_000_000

    // S-96: what an attempt transfers counts from its beginning
    @Test("the rate of the last seconds") func rate() {
        var rate = TransferRate(5000, at: 0)
        #expect(rate.bytesPerSecond(at: 0) == 0)
        rate.note(6000, at: Self.second / 2)
        #expect(rate.bytesPerSecond(at: Self.second / 2) == 2000)
        rate.note(7000, at: Self.second)
        rate.note(17_000, at: 2 * Self.second)
        // Since the beginning of the window before: of 6000 bytes at one second.
        #expect(rate.bytesPerSecond(at: 2 * Self.second) == 11_000)
        rate.note(18_000, at: 3 * Self.second)
        #expect(rate.bytesPerSecond(at: 3 * Self.second) == 11_000)
        // Nothing arrives any more.
        #expect(rate.bytesPerSecond(at: 100 * Self.second) < 120)
    }

    @Test("a total that falls back") func fallsBack() {
        var rate = TransferRate(5000, at: 0)
        rate.note(100, at: Self.second)
        #expect(rate.bytesPerSecond(at: Self.second) == 0)
    }
}
