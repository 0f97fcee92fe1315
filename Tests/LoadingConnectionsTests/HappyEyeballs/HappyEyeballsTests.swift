import Glibc
import LoadingConnections
import LoadingSemantics
import LoadingTransport
import Testing

/// CONN-9: RFC 8305.
@Suite struct HappyEyeballsTests {
    private static func address(_ text: String) -> SocketAddress {
        guard let address = SocketAddress(literal: text, port: 443) else { preconditionFailure("no literal: \(text)") }
        return address
    }

    private let six = (1...20).map { Self.address("2001:db8::\(String($0, radix: 16))") }
    private let four = (1...20).map { Self.address("192.0.2.\($0)") }
    private let millisecond: Int64 = 1_000_000
    private let refused = LoadError.cannotConnectToHost(ECONNREFUSED)
    private let unreachable = LoadError.cannotConnectToHost(EHOSTUNREACH)
    private let noNetwork = LoadError.notConnectedToInternet(ENETUNREACH)
    private let unknownName = LoadError.cannotFindHost(-2)

    private func ms(_ count: Int64) -> Int64 { count * millisecond }

    // §3: a positive answer about IPv6 starts at once.
    @Test func ipv6FirstStartsAtOnce() {
        var race = HappyEyeballs()
        #expect(race.handle(.resolved(.ipv6, [six[0]]), at: 0) == [.connect(1, six[0])])
        #expect(race.handle(.resolved(.ipv4, [four[0]]), at: ms(10)) == [.setDeadline(ms(250))])
        #expect(race.handle(.attemptSucceeded(1), at: ms(30)) == [.clearDeadline, .succeeded(1)])
    }

    // §3: IPv4 waits 50 ms for the answer about IPv6.
    @Test func ipv4WaitsForTheAnswerAboutIPv6() {
        var race = HappyEyeballs()
        #expect(race.handle(.resolved(.ipv4, [four[0], four[1]]), at: ms(5)) == [.setDeadline(ms(55))])
        #expect(race.handle(.deadline, at: ms(55)) == [.connect(1, four[0]), .setDeadline(ms(305))])
        // Too late to be first, but the next to be tried.
        #expect(race.handle(.resolved(.ipv6, [six[0]]), at: ms(80)) == [])
        #expect(race.handle(.deadline, at: ms(305)) == [.connect(2, six[0]), .setDeadline(ms(555))])
        #expect(race.handle(.deadline, at: ms(555)) == [.connect(3, four[1])])
        #expect(
            race.handle(.attemptSucceeded(2), at: ms(600)) == [.abandon(1), .abandon(3), .succeeded(2)])
    }

    // §3: within the delay IPv6 is still first.
    @Test func ipv6WithinTheDelayGoesFirst() {
        var race = HappyEyeballs()
        #expect(race.handle(.resolved(.ipv4, [four[0]]), at: 0) == [.setDeadline(ms(50))])
        #expect(
            race.handle(.resolved(.ipv6, [six[0]]), at: ms(49)) == [.connect(1, six[0]), .setDeadline(ms(299))])
        #expect(race.handle(.deadline, at: ms(299)) == [.connect(2, four[0])])
    }

    // Addresses to avoid: not before the other answer, nor while another address has time to answer.
    @Test func addressesToAvoidAreLast() {
        var race = HappyEyeballs(avoiding: [six[0], four[0]])
        #expect(race.handle(.resolved(.ipv6, [six[0]]), at: 0) == [.setDeadline(ms(50))])
        #expect(
            race.handle(.resolved(.ipv4, [four[0], four[1]]), at: ms(10))
                == [.connect(1, four[1]), .setDeadline(ms(1010))])
        #expect(race.handle(.deadline, at: ms(1010)) == [.connect(2, six[0]), .setDeadline(ms(2010))])
        #expect(race.handle(.attemptFailed(1, refused), at: ms(1100)) == [])
        #expect(race.handle(.attemptFailed(2, refused), at: ms(1200)) == [.connect(3, four[0]), .clearDeadline])
        #expect(race.handle(.attemptSucceeded(3), at: ms(1300)) == [.succeeded(3)])
        var only = HappyEyeballs(avoiding: [six[0]])
        #expect(only.handle(.resolved(.ipv6, [six[0]]), at: 0) == [.setDeadline(ms(50))])
        #expect(only.handle(.deadline, at: ms(50)) == [.connect(1, six[0])])
    }

    // §3: a negative answer about IPv6 ends the wait.
    @Test(arguments: [true, false])
    func aNegativeAnswerEndsTheWait(isFailure: Bool) {
        var race = HappyEyeballs()
        #expect(race.handle(.resolved(.ipv4, [four[0]]), at: 0) == [.setDeadline(ms(50))])
        let answer: HappyEyeballs.Input = isFailure ? .resolutionFailed(.ipv6, unknownName) : .resolved(.ipv6, [])
        #expect(race.handle(answer, at: ms(7)) == [.connect(1, four[0]), .clearDeadline])
        #expect(race.handle(.attemptSucceeded(1), at: ms(8)) == [.succeeded(1)])
    }

    // CONN-6, RFC 9460 §3: what is asked about services is waited for as IPv6 is, whatever addresses there are.
    @Test(arguments: [SocketAddress.Family.ipv4, .ipv6])
    func servicesAreWaitedFor(family: SocketAddress.Family) {
        let address = family == .ipv4 ? four[0] : six[0]
        let other: SocketAddress.Family = family == .ipv4 ? .ipv6 : .ipv4
        var race = HappyEyeballs(awaitsServices: true)
        #expect(race.handle(.resolved(family, [address]), at: ms(5)) == [.setDeadline(ms(55))])
        #expect(race.handle(.resolved(other, []), at: ms(20)) == [])
        #expect(race.handle(.servicesKnown, at: ms(30)) == [.connect(1, address), .clearDeadline])
        var silent = HappyEyeballs(awaitsServices: true)
        #expect(silent.handle(.resolved(family, [address]), at: ms(5)) == [.setDeadline(ms(55))])
        #expect(silent.handle(.resolved(other, []), at: ms(40)) == [])
        #expect(silent.handle(.deadline, at: ms(55)) == [.connect(1, address)])
        #expect(silent.handle(.servicesKnown, at: ms(60)) == [])
    }

    // CONN-6: known before there is an address, they hold up nothing; and without any address nothing is waited for.
    @Test func servicesThatAreKnownFirst() {
        var race = HappyEyeballs(awaitsServices: true)
        #expect(race.handle(.servicesKnown, at: 0) == [])
        #expect(race.handle(.resolved(.ipv6, [six[0]]), at: ms(100)) == [.connect(1, six[0])])
        var nowhere = HappyEyeballs(awaitsServices: true)
        #expect(nowhere.handle(.resolutionFailed(.ipv6, unknownName), at: 0) == [])
        #expect(nowhere.handle(.resolutionFailed(.ipv4, unknownName), at: ms(1)) == [.failed(unknownName)])
    }

    // §3: there is no wait for a family that is not queried.
    @Test func oneFamilyAlone() {
        var race = HappyEyeballs(families: [.ipv4])
        #expect(race.handle(.resolved(.ipv4, [four[0]]), at: 0) == [.connect(1, four[0])])
        #expect(race.handle(.attemptFailed(1, refused), at: ms(1)) == [.failed(refused)])
    }

    // §4: the families take turns, IPv6 first.
    @Test func familiesTakeTurns() {
        var race = HappyEyeballs()
        var order: [HappyEyeballs.Action] = []
        order += race.handle(.resolved(.ipv6, Array(six[0..<4])), at: 0)
        order += race.handle(.resolved(.ipv4, Array(four[0..<2])), at: 0)
        for attempt in 1...5 { order += race.handle(.attemptFailed(attempt, refused), at: 0) }
        let connects = order.filter { if case .connect = $0 { true } else { false } }
        #expect(
            connects == [
                .connect(1, six[0]), .connect(2, four[0]), .connect(3, six[1]), .connect(4, four[1]),
                .connect(5, six[2]), .connect(6, six[3]),
            ])
        #expect(race.handle(.attemptFailed(6, refused), at: 0) == [.failed(refused)])
    }

    // §5: a failed attempt starts the next at once, and the wait begins anew.
    @Test func aFailureStartsTheNextAtOnce() {
        var race = HappyEyeballs()
        _ = race.handle(.resolved(.ipv6, [six[0], six[1]]), at: 0)
        _ = race.handle(.resolved(.ipv4, [four[0]]), at: 0)
        #expect(race.handle(.attemptFailed(1, refused), at: ms(20)) == [.connect(2, four[0]), .setDeadline(ms(270))])
        #expect(race.handle(.deadline, at: ms(270)) == [.connect(3, six[1])])
        #expect(race.handle(.attemptFailed(2, refused), at: ms(280)) == [])
        #expect(race.handle(.attemptFailed(3, refused), at: ms(290)) == [.failed(refused)])
        #expect(race.failures == [refused, refused, refused])
    }

    // §5: the first to answer wins, the others are released, and late results change nothing.
    @Test func theFirstToAnswerWins() {
        var race = HappyEyeballs()
        _ = race.handle(.resolved(.ipv6, [six[0], six[1]]), at: 0)
        _ = race.handle(.resolved(.ipv4, [four[0]]), at: 0)
        #expect(race.handle(.deadline, at: ms(250)) == [.connect(2, four[0]), .setDeadline(ms(500))])
        #expect(race.handle(.attemptSucceeded(2), at: ms(260)) == [.abandon(1), .clearDeadline, .succeeded(2)])
        let late: [HappyEyeballs.Input] = [
            .attemptSucceeded(1), .attemptFailed(1, refused), .deadline, .resolved(.ipv4, [four[1]]),
            .resolutionFailed(.ipv6, unknownName), .cancelled, .attemptSucceeded(2),
        ]
        for input in late { #expect(race.handle(input, at: ms(261)) == []) }
    }

    // §5: at one moment a success beats the timer, whichever is reported first.
    @Test func simultaneousReports() {
        var timerFirst = HappyEyeballs()
        _ = timerFirst.handle(.resolved(.ipv6, [six[0], six[1]]), at: 0)
        #expect(timerFirst.handle(.deadline, at: ms(250)) == [.connect(2, six[1])])
        #expect(timerFirst.handle(.attemptSucceeded(1), at: ms(250)) == [.abandon(2), .succeeded(1)])

        var failureFirst = HappyEyeballs()
        _ = failureFirst.handle(.resolved(.ipv6, [six[0], six[1], six[2]]), at: 0)
        #expect(
            failureFirst.handle(.attemptFailed(1, refused), at: ms(250)) == [
                .connect(2, six[1]), .setDeadline(ms(500)),
            ])
        // The timer of 250 ms was on its way already: nothing is due, and the new deadline is set again.
        #expect(failureFirst.handle(.deadline, at: ms(250)) == [.setDeadline(ms(500))])
    }

    // §5: both answers at one moment.
    @Test func bothAnswersAtOnce() {
        var race = HappyEyeballs()
        #expect(race.handle(.resolved(.ipv4, [four[0]]), at: 0) == [.setDeadline(ms(50))])
        #expect(race.handle(.resolved(.ipv6, [six[0]]), at: 0) == [.connect(1, six[0]), .setDeadline(ms(250))])
    }

    // §3: the last address has failed, but an answer is still to come.
    @Test func waitsForTheOtherAnswer() {
        var race = HappyEyeballs()
        #expect(race.handle(.resolved(.ipv6, [six[0]]), at: 0) == [.connect(1, six[0])])
        #expect(race.handle(.attemptFailed(1, noNetwork), at: ms(1)) == [])
        #expect(race.handle(.resolved(.ipv4, [four[0]]), at: ms(90)) == [.connect(2, four[0])])
        #expect(race.handle(.attemptFailed(2, refused), at: ms(91)) == [.failed(refused)])
    }

    // §5: an address that comes when the running attempt has had its time is tried at once.
    @Test func aLateAddressIsTriedWhenItsTimeHasCome() {
        var race = HappyEyeballs()
        #expect(race.handle(.resolved(.ipv6, [six[0]]), at: 0) == [.connect(1, six[0])])
        #expect(race.handle(.resolved(.ipv4, [four[0]]), at: ms(400)) == [.connect(2, four[0])])
    }

    // ERR-5
    @Test func aHostWithoutAddressesIsNotFound() {
        var empty = HappyEyeballs()
        #expect(empty.handle(.resolved(.ipv4, []), at: 0) == [])
        #expect(empty.handle(.resolved(.ipv6, []), at: 1) == [.failed(.cannotFindHost)])

        var unknown = HappyEyeballs()
        #expect(unknown.handle(.resolutionFailed(.ipv6, unknownName), at: 0) == [])
        #expect(unknown.handle(.resolutionFailed(.ipv4, .cannotFindHost(-3)), at: 1) == [.failed(unknownName)])
    }

    // ERR-5: a host that refuses says more than a network that is not there.
    @Test func theMostSpecificFailureIsReported() {
        let timeout = LoadError(code: -1001, cause: .posix(ETIMEDOUT))
        let untrusted = LoadError.certificateUntrusted(18, "self-signed certificate")
        let lost = LoadError.networkConnectionLost(ECONNRESET)
        let rising = [unknownName, noNetwork, unreachable, timeout, lost, refused, untrusted]
        for (weak, strong) in zip(rising, rising.dropFirst()) {
            for failures in [[weak, strong], [strong, weak]] {
                var race = HappyEyeballs(families: [.ipv4])
                _ = race.handle(.resolved(.ipv4, [four[0], four[1]]), at: 0)
                _ = race.handle(.attemptFailed(1, failures[0]), at: 0)
                #expect(race.handle(.attemptFailed(2, failures[1]), at: 0) == [.failed(strong)])
            }
        }
    }

    // ERR-5: one family has no name, the other no network.
    @Test func anAttemptSaysMoreThanAName() {
        var race = HappyEyeballs()
        #expect(race.handle(.resolutionFailed(.ipv6, unknownName), at: 0) == [])
        #expect(race.handle(.resolved(.ipv4, [four[0]]), at: 0) == [.connect(1, four[0])])
        #expect(race.handle(.attemptFailed(1, noNetwork), at: 0) == [.failed(noNetwork)])
        #expect(race.failures == [unknownName, noNetwork])
    }

    // §5: no more than eight of a family, each once.
    @Test func addressesAreBounded() {
        var race = HappyEyeballs(families: [.ipv6])
        var connects: [HappyEyeballs.Action] = []
        connects += race.handle(.resolved(.ipv6, [six[0]] + six), at: 0)
        for attempt in 1..<20 { connects += race.handle(.attemptFailed(attempt, refused), at: 0) }
        let expected = (0..<8).map { HappyEyeballs.Action.connect($0 + 1, six[$0]) }
        #expect(
            connects.filter { if case .setDeadline = $0 { false } else { $0 != .clearDeadline } } == expected + [
                .failed(refused)
            ])
    }

    // §5: 10 ms to 2 s
    @Test(arguments: [(0, 10), (-5, 10), (100, 100), (5000, 2000)] as [(Int64, Int64)])
    func theDelayBetweenAttemptsHasLimits(asked: Int64, given: Int64) {
        var limits = TimeLimits()
        limits.attemptDelay = ms(asked)
        var race = HappyEyeballs(families: [.ipv6], limits: limits)
        #expect(
            race.handle(.resolved(.ipv6, [six[0], six[1]]), at: ms(3))
                == [.connect(1, six[0]), .setDeadline(ms(3 + given))])
    }

    // CONN-20: all cached addresses are tried, and for a second none has answered
    @Test func cachedAddressesThatAreSilentAreResolvedAgain() {
        var race = HappyEyeballs()
        #expect(race.handle(.resolved(.ipv6, [six[0]], isCached: true), at: 0) == [.connect(1, six[0])])
        #expect(race.handle(.resolved(.ipv4, [four[0]], isCached: true), at: 0) == [.setDeadline(ms(250))])
        #expect(race.handle(.attemptFailed(1, refused), at: ms(10)) == [.connect(2, four[0]), .setDeadline(ms(1010))])
        #expect(race.handle(.deadline, at: ms(1009)) == [.setDeadline(ms(1010))])
        #expect(race.handle(.deadline, at: ms(1010)) == [.resolveAgain])
        #expect(race.handle(.resolved(.ipv4, []), at: ms(1020)) == [])
        #expect(race.handle(.resolved(.ipv6, [six[1]]), at: ms(1030)) == [.connect(3, six[1])])
        #expect(race.handle(.attemptSucceeded(3), at: ms(1040)) == [.abandon(2), .succeeded(3)])
    }

    // CONN-20: what answers late still wins
    @Test func cachedAddressesMayAnswerWhileTheyAreResolvedAgain() {
        var race = HappyEyeballs(families: [.ipv4])
        #expect(
            race.handle(.resolved(.ipv4, [four[0]], isCached: true), at: 0)
                == [.connect(1, four[0]), .setDeadline(ms(1000))])
        #expect(race.handle(.deadline, at: ms(1000)) == [.resolveAgain])
        #expect(race.handle(.attemptSucceeded(1), at: ms(1001)) == [.succeeded(1)])
    }

    // CONN-20: once, and at once if all have failed; the first of the most specific failures is reported
    @Test func cachedAddressesThatFailAreResolvedAgainOnce() {
        var race = HappyEyeballs(families: [.ipv4])
        _ = race.handle(.resolved(.ipv4, [four[0]], isCached: true), at: 0)
        #expect(race.handle(.attemptFailed(1, refused), at: 1) == [.resolveAgain, .clearDeadline])
        #expect(race.handle(.resolved(.ipv4, [four[1]], isCached: true), at: 2) == [.connect(2, four[1])])
        #expect(race.handle(.attemptFailed(2, unreachable), at: 3) == [.failed(refused)])
    }

    // CONN-20: as many again
    @Test func manyCachedAddressesLeaveRoomForNewOnes() {
        var race = HappyEyeballs(families: [.ipv4])
        _ = race.handle(.resolved(.ipv4, Array(four[0..<8]), isCached: true), at: 0)
        for attempt in 1...7 { _ = race.handle(.attemptFailed(attempt, refused), at: 0) }
        #expect(race.handle(.attemptFailed(8, refused), at: 0) == [.resolveAgain, .clearDeadline])
        #expect(race.handle(.resolved(.ipv4, [four[8]]), at: 0) == [.connect(9, four[8])])
    }

    // CONN-20, CONN-12: not what was just resolved, and not without a network
    @Test func newAddressesAreNotResolvedAgain() {
        var new = HappyEyeballs(families: [.ipv4])
        #expect(new.handle(.resolved(.ipv4, [four[0]]), at: 0) == [.connect(1, four[0])])
        #expect(new.handle(.attemptFailed(1, refused), at: 1) == [.failed(refused)])
        var offline = HappyEyeballs(families: [.ipv4])
        _ = offline.handle(.resolved(.ipv4, [four[0]], isCached: true), at: 0)
        #expect(offline.handle(.attemptFailed(1, noNetwork), at: 1) == [.clearDeadline, .failed(noNetwork)])
    }

    // T-5
    @Test func cancelLetsGoOfEverything() {
        var race = HappyEyeballs()
        _ = race.handle(.resolved(.ipv6, [six[0], six[1], six[2]]), at: 0)
        _ = race.handle(.deadline, at: ms(250))
        #expect(race.handle(.cancelled, at: ms(300)) == [.abandon(1), .abandon(2), .clearDeadline])
        #expect(race.handle(.attemptSucceeded(1), at: ms(301)) == [])

        var early = HappyEyeballs()
        #expect(early.handle(.cancelled, at: 0) == [])
        #expect(early.handle(.resolved(.ipv6, [six[0]]), at: 1) == [])
    }

    // Results of attempts that were never made change nothing.
    @Test func unknownAttemptsAreIgnored() {
        var race = HappyEyeballs()
        _ = race.handle(.resolved(.ipv6, [six[0]]), at: 0)
        #expect(race.handle(.attemptFailed(7, refused), at: 1) == [])
        #expect(race.handle(.attemptSucceeded(7), at: 1) == [])
        #expect(race.handle(.attemptSucceeded(1), at: 1) == [.succeeded(1)])
    }
}
