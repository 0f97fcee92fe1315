import BackgroundTransfers
import LoadingSemantics
import Testing

/// When a program is launched (BG-11, BG-15), step by step. Dates are seconds after `start`.
@Suite struct LaunchPolicyTests {
    enum Step: Sendable {
        case needed, notNeeded, launched, programStarted, programEnded, attached, detached, idle
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [(at: Double, Step)]
        let at: Double
        let decision: LaunchPolicy.Decision

        init(
            _ description: String, _ steps: [(at: Double, Step)], at: Double, _ decision: LaunchPolicy.Decision
        ) {
            testDescription = description
            self.steps = steps
            self.at = at
            self.decision = decision
        }
    }

    private static let start = 1_000_000.0

    /// The first, then one for each further launch.
    private static func unattached(_ launches: Int) -> [(at: Double, Step)] {
        var date = 0.0
        var steps: [(at: Double, Step)] = [(0, .needed)]
        for launch in 0..<launches {
            steps.append((date, .launched))
            date += 60 * Double(1 << launch)
        }
        return steps
    }

    static let cases: [Case] = [
        Case("nothing without a need", [], at: 0, .nothing),
        Case("the first launch is at once", [(0, .needed)], at: 0, .launch),
        Case("not while the program is attached", [(0, .attached), (1, .needed)], at: 1, .nothing),
        Case("when an attached program goes away", [(0, .attached), (1, .needed), (2, .detached)], at: 2, .launch),
        Case("not twice at once", [(0, .needed), (0, .launched), (0, .programStarted)], at: 1000, .nothing),
        Case(
            "after the end of a program that did not attach",
            [(0, .needed), (0, .launched), (0, .programStarted), (9, .programEnded)], at: 9, .wait(until: start + 60)),
        Case("again after 60 s", unattached(1), at: 60, .launch),
        Case("not before", unattached(1), at: 59, .wait(until: start + 60)),
        Case("the delay doubles", unattached(2), at: 61, .wait(until: start + 60 + 120)),
        Case("and doubles", unattached(3), at: 181, .wait(until: start + 180 + 240)),
        Case(
            "no longer than a day", unattached(30), at: 60 * Double(1 << 29),
            .wait(until: start + 60 * Double(1 << 29) - 60 + 86_400)),
        Case(
            "a program that has taken everything is launched at once again",
            unattached(3) + [(200, .attached), (201, .notNeeded), (201, .idle), (202, .detached), (203, .needed)],
            at: 203, .launch),
        Case(
            "one that goes away with something left is not",
            unattached(1) + [(1, .attached), (2, .detached)], at: 3, .wait(until: start + 60)),
        Case(
            "idle counts only while it is attached", unattached(1) + [(1, .idle)], at: 3, .wait(until: start + 60)),
        Case(
            "a delay that passes unused is forgotten",
            unattached(4) + [(500, .notNeeded), (2000, .needed), (2000, .launched)], at: 2001,
            .wait(until: start + 2060)),
        Case(
            "one that has not passed is not", unattached(2) + [(70, .notNeeded), (80, .needed)], at: 80,
            .wait(until: start + 180)),
        Case("the clock was set back", unattached(1), at: -5000, .wait(until: start - 5000 + 60)),
    ]

    // BG-15: also if it is looked at again and again
    @Test("the clock is set back before a launch") func clockSetBack() {
        var policy = LaunchPolicy()
        policy.setNeeded(true, at: Self.start)
        policy.launched(at: Self.start)
        let back = Self.start - 86_400
        for time in [0.0, 20, 40] {
            policy.setNeeded(true, at: back + time)
            #expect(policy.decision(at: back + time) == .wait(until: back + 60))
        }
        policy.setNeeded(true, at: back + 60)
        #expect(policy.decision(at: back + 60) == .launch)
    }

    // BG-11, BG-15
    @Test("a launch", arguments: cases) func decides(_ example: Case) {
        var policy = LaunchPolicy()
        for (time, step) in example.steps {
            let now = Self.start + time
            switch step {
            case .needed: policy.setNeeded(true, at: now)
            case .notNeeded: policy.setNeeded(false, at: now)
            case .launched: policy.launched(at: now)
            case .programStarted: policy.programStarted()
            case .programEnded: policy.programEnded()
            case .attached: policy.attached()
            case .detached: policy.detached()
            case .idle: policy.becameIdle()
            }
        }
        #expect(policy.decision(at: Self.start + example.at) == example.decision)
    }

    // BG-23
    @Test("the limiter can hold for the first launch too") func firstDelay() {
        var policy = LaunchPolicy(firstDelay: 60)
        policy.setNeeded(true, at: 100)
        #expect(policy.decision(at: 120) == .wait(until: 160))
        #expect(policy.decision(at: 160) == .launch)
    }

    // BG-15
    @Test("what the journal has is continued") func restored() {
        var policy = LaunchPolicy(launches: 2, lastLaunch: 1000)
        policy.setNeeded(true, at: 1050)
        #expect(policy.decision(at: 1050) == .wait(until: 1120))
        #expect(policy.launches == 2 && policy.lastLaunch == 1000)
        policy.attached()
        policy.becameIdle()
        #expect(policy.launches == 0 && policy.lastLaunch == nil)
    }

    // BG-15
    @Test("a journal with absurd numbers delays by a day at most", arguments: [-1, 1, 63, 64, 65, .max])
    func absurd(_ launches: Int) {
        var policy = LaunchPolicy(launches: launches, lastLaunch: 1e300)
        policy.setNeeded(true, at: 0)
        if case .wait(let date) = policy.decision(at: 0) { #expect(date <= 86_400) } else { #expect(launches < 1) }
        policy.launched(at: 0)
    }
}
