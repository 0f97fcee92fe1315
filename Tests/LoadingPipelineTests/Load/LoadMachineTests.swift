import LoadingSemantics
import Testing

@testable import LoadingPipeline

/// A load's stages: each stage with each thing that can happen.
@Suite struct LoadMachineTests {
    private typealias Stage = LoadMachine.Stage
    private typealias Input = LoadMachine.Input

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

    /// To which stage each input leads, from the stages at which it means something. At all others it changes nothing.
    private static let table: [(input: LoadMachine.Input, leads: [LoadMachine.Stage: LoadMachine.Stage])] = [
        (.start, [.notStarted: .transportSecurity]),
        (.passed(.connectivity), [.connectivity: .transportSecurity]),
        (.passed(.uploadPause), [.uploadPause: .transportSecurity]),
        (.passed(.transportSecurity), [.transportSecurity: .cookies]),
        (.passed(.cookies), [.cookies: .cacheLookup]),
        (.passed(.cacheLookup), [.cacheLookup: .cacheDecision]),
        (.passed(.cacheDecision), [.cacheDecision: .requestBody]),
        (.passed(.requestBody), [.requestBody: .proxyResolution]),
        (.passed(.proxyResolution), [.proxyResolution: .exchange]),
        (.passed(.exchange), [:]), (.passed(.response), [:]), (.passed(.notStarted), [:]),
        (.losesRoute, [.exchange: .connectivity]),
        (.pauses, Dictionary(uniqueKeysWithValues: loading.map { ($0, .uploadPause) })),
        (.fetchesAgain, Dictionary(uniqueKeysWithValues: loading.map { ($0, .transportSecurity) })),
        (.givesUpExchange, [.proxyResolution: .cacheDecision, .exchange: .cacheDecision]),
        (.asks(.challenge), asked(.challenge)), (.asks(.redirect), asked(.redirect)),
        (.asks(.uploadMove), asked(.uploadMove)), (.asks(.mediaType), asked(.mediaType)),
        (.asks(.response), asked(.response)), (.asks(.body), [:]),
        (.acceptsResponse, [.response: .body]), (.dropsChallenge, [.challenge: .exchange]),
        (
            .tellsParts,
            [
                .exchange: .body, .challenge: .body, .redirect: .body, .uploadMove: .body, .mediaType: .body,
                .response: .body,
            ]
        ),
        (.completes(withFile: true), [:]), (.completes(withFile: false), [:]),
        (
            .fails(.timedOut),
            Dictionary(uniqueKeysWithValues: Stage.allCases.filter { $0 < .failing }.map { ($0, .failing) })
        ),
        (.ends, Dictionary(uniqueKeysWithValues: Stage.allCases.filter { $0 < .ended }.map { ($0, .ended) })),
    ]

    private static let loading = LoadMachine.Stage.allCases.filter { $0 > .connectivity && $0 < .failing }

    private static func asked(_ question: LoadMachine.Stage) -> [LoadMachine.Stage: LoadMachine.Stage] {
        let from = LoadMachine.Stage.allCases.filter { $0 >= .cacheDecision && $0 <= .body }
        return Dictionary(uniqueKeysWithValues: from.map { ($0, question) })
    }

    // T-1, T-9: one end, and nothing after it
    @Test("each stage with each input", arguments: LoadMachine.Stage.allCases)
    func inputs(stage: LoadMachine.Stage) {
        for (input, leads) in Self.table {
            let before = Self.machine(at: stage)
            var machine = before
            let isTaken = machine.receive(input)
            #expect(isTaken == (leads[stage] != nil), "\(input)")
            #expect(machine.stage == leads[stage] ?? stage, "\(input)")
            if !isTaken { #expect(machine == before, "\(input)") }
        }
    }

    @Test("a late answer is nobody's") func late() {
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
        #expect(!again && machine.stage == stage && !machine.letsBodyThrough)
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

    @Test("an exchange that was given up is begun anew from the decision about the cache") func givenUp() {
        var machine = Self.machine(at: .exchange)
        machine.receive(.suspend)
        machine.receive(.givesUpExchange)
        #expect(machine.next() == nil)
        machine.receive(.resume)
        #expect(machine.next() == .cacheDecision)
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
            #expect(machine.letsBodyThrough == !(questions.contains(stage) || over.contains(stage)), "\(stage)")
            let silent: Set<LoadMachine.Stage> = [.notStarted, .connectivity, .closingFile, .storing]
            #expect(machine.awaitsNetwork == !(silent.contains(stage) || over.contains(stage)), "\(stage)")
        }
        #expect(Self.machine(at: .failing).failure == .timedOut)
    }
}
