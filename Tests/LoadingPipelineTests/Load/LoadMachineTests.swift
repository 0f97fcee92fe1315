import LoadingSemantics
import Testing

@testable import LoadingPipeline

/// A load's stages: each stage with each thing that can happen.
@Suite struct LoadMachineTests {
    /// A machine at a stage, which was run if it is one that is run.
    private static func machine(at stage: LoadMachine.Stage) -> LoadMachine {
        var machine = LoadMachine()
        if stage == .notStarted { return machine }
        machine.receive(.start)
        switch stage {
        case .notStarted: break
        case .transportSecurity, .cookies, .cacheLookup, .cacheDecision, .requestBody, .proxyResolution, .exchange:
            while let next = machine.next(), next < stage { machine.receive(.passed(next)) }
        case .connectivity:
            machine = Self.machine(at: .exchange)
            machine.receive(.losesRoute)
        case .uploadPause: machine.receive(.pauses)
        case .challenge, .redirect, .uploadMove, .mediaType, .response:
            machine = Self.machine(at: .exchange)
            machine.receive(.asks(stage))
        case .body, .closingFile, .storing:
            machine = Self.machine(at: .response)
            machine.receive(.acceptsResponse)
            guard stage != .body else { break }
            machine.receive(.responseEnds(.complete))
            machine.receive(.completes(withFile: stage == .closingFile))
        case .failing: machine.receive(.fails(.timedOut))
        case .ended: machine.receive(.ends)
        }
        return machine
    }

    @Test("every stage can be come to", arguments: LoadMachine.Stage.allCases)
    func reach(stage: LoadMachine.Stage) { #expect(Self.machine(at: stage).stage == stage) }

    @Test("the stages of a request are run in their order, each once") func order() {
        var machine = LoadMachine()
        #expect(machine.next() == nil)
        machine.receive(.start)
        var stages: [LoadMachine.Stage] = []
        while let stage = machine.next() {
            #expect(machine.next() == nil)
            stages.append(stage)
            machine.receive(.passed(stage))
        }
        #expect(
            stages == [
                .transportSecurity, .cookies, .cacheLookup, .cacheDecision, .requestBody, .proxyResolution, .exchange,
            ])
    }

    // T-1, T-2, T-9: one end, and nothing after it
    @Test("each stage with each input", arguments: LoadMachine.Stage.allCases, LoadMachineTable.Condition.allCases)
    func inputs(stage: LoadMachine.Stage, condition: LoadMachineTable.Condition) {
        var before = Self.machine(at: stage)
        guard condition.put(&before) else { return }
        let row = LoadMachineTable.row(of: stage, condition)
        var taken = 0
        for input in LoadMachineTable.allInputs {
            let leads = row.first { $0.input == input }?.to
            var machine = before
            let isTaken = machine.receive(input)
            #expect(isTaken == (leads != nil), "\(input)")
            #expect(machine.stage == leads ?? stage, "\(input)")
            #expect(isTaken || machine == before, "\(input)")
            if isTaken { taken += 1 }
        }
        // Each input of the row was among those that were tried.
        #expect(taken == row.count)
    }

    @Test("an answer that comes late is ignored") func late() {
        var machine = Self.machine(at: .cookies)
        let first = machine.receive(.passed(.cookies))
        let second = machine.receive(.passed(.cookies))
        #expect(first && !second && machine.stage == .cacheLookup)
    }

    // T-2
    @Test("a suspended load takes answers and runs nothing", arguments: LoadMachine.Stage.allCases)
    func suspended(stage: LoadMachine.Stage) {
        var machine = Self.machine(at: stage)
        let isTaken = machine.receive(.suspend)
        #expect(isTaken == (stage < .failing))
        guard isTaken else { return }
        let again = machine.receive(.suspend)
        #expect(!again && machine.stage == stage && !machine.mayDeliverBody)
        let hasPassed = machine.receive(.passed(stage))
        #expect(machine.next() == nil)
        machine.receive(.resume)
        #expect(!machine.isSuspended)
        // A stage that was come to while the load was suspended is run now; one that was run before is not run again.
        #expect(machine.next() == (hasPassed ? machine.stage : nil))
    }

    @Test("a stage that was not run has not passed") func notRun() {
        var machine = LoadMachine()
        machine.receive(.start)
        let early = machine.receive(.passed(.transportSecurity))
        #expect(!early && machine.next() == .transportSecurity)
    }

    @Test("an exchange that was given up is begun anew, with the cookies of that time") func givenUp() {
        var machine = Self.machine(at: .exchange)
        machine.receive(.suspend)
        machine.receive(.givesUpExchange)
        #expect(machine.next() == nil)
        machine.receive(.resume)
        #expect(machine.next() == .transportSecurity)
    }

    // TLS-7
    @Test("a request whose host becomes secure during a wait is prepared anew", arguments: [false, true])
    func secured(isSuspended: Bool) {
        for stage in [LoadMachine.Stage.cookies, .cacheLookup, .requestBody, .proxyResolution] {
            var machine = Self.machine(at: stage)
            if isSuspended { machine.receive(.suspend) }
            machine.receive(.passed(stage))
            machine.receive(.becomesSecure)
            #expect(machine.stage == .transportSecurity)
        }
    }

    @Test("where a question is withdrawn the exchange is not begun once more") func withdrawn() {
        var machine = Self.machine(at: .exchange)
        machine.receive(.asks(.challenge))
        machine.receive(.dropsChallenge)
        #expect(machine.next() == nil && machine.stage == .exchange)
    }

    // T-38
    @Test("the end of a response is kept until its body is delivered") func ends() {
        var machine = Self.machine(at: .response)
        let isTaken = machine.receive(.responseEnds(.complete))
        let again = machine.receive(.responseEnds(.failed(.timedOut)))
        #expect(isTaken && !again && machine.responseEnd == .complete && !machine.awaitsNetwork)
        let early = machine.receive(.completes(withFile: false))
        machine.receive(.acceptsResponse)
        let inTime = machine.receive(.completes(withFile: false))
        #expect(!early && inTime && machine.stage == .storing)
        machine = Self.machine(at: .body)
        machine.receive(.responseEnds(.failed(.networkConnectionLost)))
        let cut = machine.receive(.completes(withFile: false))
        #expect(!cut)
    }

    @Test("another request forgets how the response of the one before ended") func forgets() {
        var machine = Self.machine(at: .redirect)
        machine.receive(.responseEnds(.complete))
        machine.receive(.fetchesAgain)
        #expect(machine.responseEnd == nil && machine.next() == .transportSecurity)
    }

    // CONN-13
    @Test("what the stages mean for the body and for the clock") func meaning() {
        for stage in LoadMachine.Stage.allCases {
            let machine = Self.machine(at: stage)
            let questions: Set<LoadMachine.Stage> = [.challenge, .redirect, .uploadMove, .mediaType, .response]
            let over: Set<LoadMachine.Stage> = [.failing, .ended]
            #expect(machine.hasEnded == over.contains(stage))
            #expect(machine.mayDeliverBody == !(questions.contains(stage) || over.contains(stage)), "\(stage)")
            let silent: Set<LoadMachine.Stage> = [.notStarted, .connectivity, .closingFile, .storing]
            #expect(machine.awaitsNetwork == !(silent.contains(stage) || over.contains(stage)), "\(stage)")
        }
        #expect(Self.machine(at: .failing).failure == .timedOut)
    }
}
