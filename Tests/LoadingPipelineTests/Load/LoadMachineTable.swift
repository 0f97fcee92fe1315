import LoadingSemantics

@testable import LoadingPipeline

/// What each stage of a load makes of each input. A new stage, or a new input, does not compile until it has its place
/// here.
enum LoadMachineTable {
    typealias Stage = LoadMachine.Stage
    typealias Input = LoadMachine.Input
    /// The inputs that mean something, and the stages to which they lead. All others change nothing.
    typealias Row = [(input: Input, to: Stage)]

    // MARK: Inputs

    /// The cases of `Input`, without their values.
    private enum Kind: CaseIterable {
        case start, passed, losesRoute, pauses, givesUpExchange, becomesSecure, suspend, resume, asks, acceptsResponse,
            dropsChallenge, deliversParts
        case responseEnds, fetchesAgain, completes, fails, ends

        /// Has no other use than that a new case of `Input` is missed here.
        init(of input: Input) {
            self =
                switch input {
                case .start: .start
                case .passed: .passed
                case .losesRoute: .losesRoute
                case .pauses: .pauses
                case .givesUpExchange: .givesUpExchange
                case .becomesSecure: .becomesSecure
                case .suspend: .suspend
                case .resume: .resume
                case .asks: .asks
                case .acceptsResponse: .acceptsResponse
                case .dropsChallenge: .dropsChallenge
                case .deliversParts: .deliversParts
                case .responseEnds: .responseEnds
                case .fetchesAgain: .fetchesAgain
                case .completes: .completes
                case .fails: .fails
                case .ends: .ends
                }
        }

        /// With each value that tells something apart.
        var inputs: [Input] {
            switch self {
            case .start: [.start]
            case .passed: Stage.allCases.map { .passed($0) }
            case .losesRoute: [.losesRoute]
            case .pauses: [.pauses]
            case .givesUpExchange: [.givesUpExchange]
            case .becomesSecure: [.becomesSecure]
            case .suspend: [.suspend]
            case .resume: [.resume]
            case .asks: Stage.allCases.map { .asks($0) }
            case .acceptsResponse: [.acceptsResponse]
            case .dropsChallenge: [.dropsChallenge]
            case .deliversParts: [.deliversParts]
            case .responseEnds: [.responseEnds(.complete), .responseEnds(.failed(.networkConnectionLost))]
            case .fetchesAgain: [.fetchesAgain]
            case .completes: [.completes(withFile: false), .completes(withFile: true)]
            case .fails: [.fails(.timedOut)]
            case .ends: [.ends]
            }
        }
    }

    static let allInputs = Kind.allCases.flatMap { kind in kind.inputs.filter { Kind(of: $0) == kind } }

    // MARK: Conditions

    /// What besides the stage decides.
    enum Condition: CaseIterable, Sendable {
        case plain
        case suspended
        /// The load has come to a stage that prepares the request, and has not run it.
        case entered
        /// The response has ended.
        case complete
        case failed
        case suspendedAndComplete

        /// Brings a machine into the condition. False if there is no such thing at its stage.
        func put(_ machine: inout LoadMachine) -> Bool {
            switch self {
            case .plain: true
            case .suspended: machine.receive(.suspend)
            case .entered: Self.enter(&machine)
            case .suspendedAndComplete: machine.receive(.suspend) && machine.receive(.responseEnds(.complete))
            case .complete: machine.receive(.responseEnds(.complete))
            case .failed: machine.receive(.responseEnds(.failed(.networkConnectionLost)))
            }
        }

        private static func enter(_ machine: inout LoadMachine) -> Bool {
            guard machine.stage.preparesRequest else { return false }
            var other = LoadMachine()
            other.receive(.start)
            while other.stage < machine.stage, let stage = other.next() { other.receive(.passed(stage)) }
            machine = other
            return true
        }
    }

    // MARK: Rows

    static func row(of stage: Stage, _ condition: Condition) -> Row {
        let row = row(of: stage)
        switch condition {
        case .plain: return row
        case .suspended: return row.map { $0.input == .suspend ? (.resume, stage) : $0 }
        case .suspendedAndComplete:
            return Self.row(of: stage, .complete).map { $0.input == .suspend ? (.resume, stage) : $0 }
        case .entered:
            let rest = row.filter { Kind(of: $0.input) != .passed }
            return stage < .cacheLookup ? rest : rest + [(.becomesSecure, .transportSecurity)]
        case .complete, .failed:
            // It ends once; and a body whose end is known can be complete.
            let rest = row.filter { Kind(of: $0.input) != .responseEnds }
            guard condition == .complete, stage == .body else { return rest }
            return rest + [(.completes(withFile: false), .storing), (.completes(withFile: true), .closingFile)]
        }
    }

    private static func row(of stage: Stage) -> Row {
        switch stage {
        case .notStarted: [(.start, .transportSecurity)] + lives(stage)
        case .connectivity: [(.passed(stage), .transportSecurity)] + lives(stage)
        case .uploadPause: [(.passed(stage), .transportSecurity)] + loads + lives(stage)
        case .transportSecurity: [(.passed(stage), .cookies)] + loads + lives(stage)
        case .cookies: [(.passed(stage), .cacheLookup)] + loads + lives(stage)
        case .cacheLookup: [(.passed(stage), .cacheDecision)] + loads + lives(stage)
        case .cacheDecision: [(.passed(stage), .requestBody)] + responds(stage) + loads + lives(stage)
        case .requestBody: [(.passed(stage), .proxyResolution)] + responds(stage) + loads + lives(stage)
        case .proxyResolution:
            [(.passed(stage), .exchange), (.givesUpExchange, .transportSecurity)] + responds(stage) + loads
                + lives(stage)
        case .exchange:
            [(.losesRoute, .connectivity), (.givesUpExchange, .transportSecurity), (.deliversParts, .body)]
                + responds(stage) + loads + lives(stage)
        case .challenge:
            [(.dropsChallenge, .exchange), (.deliversParts, .body)] + responds(stage) + loads + lives(stage)
        case .response:
            [(.acceptsResponse, .body), (.deliversParts, .body)] + responds(stage) + loads + lives(stage)
        case .redirect, .uploadMove, .mediaType: [(.deliversParts, .body)] + responds(stage) + loads + lives(stage)
        case .body: responds(stage) + loads + lives(stage)
        case .closingFile, .storing: loads + lives(stage)
        case .failing: [(.ends, .ended)]
        case .ended: []
        }
    }

    /// The load has not ended.
    private static func lives(_ stage: Stage) -> Row {
        [(.suspend, stage), (.fails(.timedOut), .failing), (.ends, .ended)]
    }

    /// It has begun, and has a route.
    private static let loads: Row = [(.pauses, .uploadPause), (.fetchesAgain, .transportSecurity)]

    /// A response may be there, be it one that is stored.
    private static func responds(_ stage: Stage) -> Row {
        [
            (.asks(.challenge), .challenge), (.asks(.redirect), .redirect), (.asks(.uploadMove), .uploadMove),
            (.asks(.mediaType), .mediaType), (.asks(.response), .response),
            (.responseEnds(.complete), stage), (.responseEnds(.failed(.networkConnectionLost)), stage),
        ]
    }
}
