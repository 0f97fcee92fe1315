import LoadingTransport
import Testing

@testable import LoadingPipeline

// CONN-15, CONN-17
@Suite struct AcknowledgedProgressTests {
    private struct Look {
        let taken: UInt64
        let outstanding: UInt64
        var sent: Int64 = 1000
    }

    private func seen(_ looks: [Look]) -> [Bool] {
        var progress = AcknowledgedProgress()
        return looks.map {
            progress.hasProgressed(
                to: Acknowledgement(acknowledged: $0.taken, outstanding: $0.outstanding), sent: $0.sent)
        }
    }

    @Test func whatIsAcknowledgedIsProgress() {
        let looks = [(0, 1000), (100, 900), (100, 900), (1000, 0), (1000, 0)] as [(UInt64, UInt64)]
        #expect(seen(looks.map { Look(taken: $0, outstanding: $1) }) == [false, true, false, true, false])
    }

    // Of several ways together it is only known what is outstanding.
    @Test func whatShrinksIsProgress() {
        #expect(
            seen([1000, 900, 900, 0, 0].map { Look(taken: 0, outstanding: $0) }) == [false, true, false, true, false])
    }

    // What goes out behind it on the same connection is that of others.
    @Test func whatOthersSendIsNone() {
        let looks = [(0, 1000), (1000, 5000), (2000, 4000), (6000, 0)] as [(UInt64, UInt64)]
        #expect(seen(looks.map { Look(taken: $0, outstanding: $1) }) == [false, true, false, false])
    }

    // What was sent since was activity when it was.
    @Test func whatIsHandedOverBeginsAnew() {
        #expect(
            seen([
                Look(taken: 0, outstanding: 1000), Look(taken: 0, outstanding: 2000, sent: 2000),
                Look(taken: 0, outstanding: 2000, sent: 2000), Look(taken: 500, outstanding: 1500, sent: 2000),
            ]) == [false, false, false, true])
    }
}
