internal import LoadingEvents
internal import LoadingSemantics

/// The state of one load as a value: its current stage, and how each input changes it.
///
/// `HTTPLoad` calls `receive` with each input, runs the stages that `next` returns, and queries what follows for the
/// connection, the body and the timer. The machine has no socket, no clock and no client.
struct LoadMachine: Equatable {
    /// The stages, in the order in which a load passes them. A redirect, an answered challenge and a retry send another
    /// request and return to `transportSecurity`.
    enum Stage: Int, CaseIterable, Comparable, Sendable {
        case notStarted
        /// No route leads to the server; the load waits for one (CONN-11).
        case connectivity
        /// An upload waits before it resumes (RES-18).
        case uploadPause
        /// HSTS upgrades the request to `https`; App Transport Security may refuse it (TLS-1, TLS-7).
        case transportSecurity
        /// The cookie store is asked for the value of the `Cookie` field.
        case cookies
        /// The response store is asked for the stored response.
        case cacheLookup
        /// Credentials are added. The cache answers, adds conditions, passes the request on, or refuses it.
        case cacheDecision
        /// The body of the request is prepared. A stream is requested later, when there is a connection (S-50).
        case requestBody
        /// The routes through proxies are determined.
        case proxyResolution
        /// A connection from the pool, the request, and the head of its response.
        case exchange
        /// A server or proxy has sent a challenge; the client is asked.
        case challenge
        /// The response is a redirect; the client is asked about it.
        case redirect
        /// The connection of an upload was lost. The client is asked whether the upload may resume at another origin.
        case uploadMove
        /// The first bytes of the body are awaited, because the response has no media type (MISC-11).
        case mediaType
        /// The client is asked whether it accepts the response.
        case response
        /// The body is delivered to the client.
        case body
        /// The body is delivered, and its file is being closed.
        case closingFile
        /// The body is delivered, and the client decides whether the response is stored.
        case storing
        /// The load has failed, and the file with the partial body is being closed.
        case failing
        case ended

        static func < (a: Stage, b: Stage) -> Bool { a.rawValue < b.rawValue }

        /// The stages that prepare a request. `next` returns each of them when it is due.
        var preparesRequest: Bool { (Stage.transportSecurity...Stage.exchange).contains(self) }

        /// The stages in which the load waits for an answer.
        var awaitsAnswer: Bool { (Stage.challenge...Stage.response).contains(self) }
    }

    /// How the body of the response ended. Kept until the bytes received before the end are delivered.
    enum ResponseEnd: Equatable {
        case complete
        case failed(LoadError)
    }

    enum Input: Equatable {
        case start
        case passed(Stage)
        /// No route leads to the server; the load waits for one.
        case losesRoute
        /// An upload pauses before it resumes.
        case pauses
        /// The exchange has ended without a result while the load is suspended. `resume` starts another, with the
        /// cookies, the stored response and the knowledge of hosts of that time.
        case givesUpExchange
        /// During a wait the host has become one that requires secure connections. The request is prepared anew.
        case becomesSecure
        case suspend
        case resume
        /// The load enters this stage and waits for an answer.
        case asks(Stage)
        /// The client accepts the response: delivery of the body may begin.
        case acceptsResponse
        /// The response is not a challenge and is processed further.
        case dropsChallenge
        /// Delivery of the body begins; the client receives the response as parts.
        case deliversParts
        case responseEnds(ResponseEnd)
        /// Another request is made. The state of the previous response is dropped.
        case fetchesAgain
        /// The whole body is delivered.
        case completes(withFile: Bool)
        /// The load has failed, and a file must be closed before the end.
        case fails(LoadError)
        case ends
    }

    private(set) var stage = Stage.notStarted
    private(set) var isSuspended = false
    private(set) var responseEnd: ResponseEnd?
    /// The error of a load in the stage `failing`.
    private(set) var failure: LoadError?
    /// `next` has returned the stage, and the stage has not completed.
    private var isRunning = false

    /// The stage to run now. Each stage is returned once; nil while the load waits.
    mutating func next() -> Stage? {
        guard stage.preparesRequest, !isRunning, !isSuspended else { return nil }
        isRunning = true
        return stage
    }

    /// Applies an input. Returns false and changes nothing if the input has no meaning at the current stage, such as a
    /// late answer or a second end. Inlined, so that a call costs only the branch of its one input.
    @discardableResult
    @inline(__always)
    mutating func receive(_ input: Input) -> Bool {
        if hasEnded {
            guard case .ends = input, stage == .failing else { return false }
        }
        switch input {
        case .start:
            guard stage == .notStarted else { return false }
            enter(.transportSecurity)
        case .passed(let passed):
            guard stage == passed, passed < .exchange, let next = Stage(rawValue: passed.rawValue + 1) else {
                return false
            }
            guard isRunning || !passed.preparesRequest, stage != .notStarted else { return false }
            enter(next.preparesRequest ? next : .transportSecurity)
        case .losesRoute:
            guard stage == .exchange else { return false }
            enter(.connectivity)
        case .pauses:
            guard isLoading else { return false }
            forgetResponse()
            enter(.uploadPause)
        case .givesUpExchange:
            guard stage == .proxyResolution || stage == .exchange else { return false }
            enter(.transportSecurity)
        case .becomesSecure:
            guard (Stage.cacheLookup...Stage.exchange).contains(stage), !isRunning else { return false }
            enter(.transportSecurity)
        case .suspend:
            guard !isSuspended else { return false }
            isSuspended = true
        case .resume:
            guard isSuspended else { return false }
            isSuspended = false
        case .asks(let question):
            guard question.awaitsAnswer, (Stage.cacheDecision...Stage.body).contains(stage) else { return false }
            enter(question)
        case .acceptsResponse:
            guard stage == .response else { return false }
            enter(.body)
        case .dropsChallenge:
            guard stage == .challenge else { return false }
            enter(.exchange)
            isRunning = true
        case .deliversParts:
            guard (Stage.exchange...Stage.response).contains(stage) else { return false }
            enter(.body)
        case .responseEnds(let end):
            guard (Stage.cacheDecision...Stage.body).contains(stage), !hasResponseEnded else { return false }
            responseEnd = end
        case .fetchesAgain:
            guard isLoading else { return false }
            forgetResponse()
            enter(.transportSecurity)
        case .completes(let withFile):
            guard stage == .body, case .complete? = responseEnd else { return false }
            enter(withFile ? .closingFile : .storing)
        case .fails(let error):
            failure = error
            enter(.failing)
        case .ends:
            enter(.ended)
        }
        return true
    }

    /// Applies an input that has a meaning wherever a load gives it. Debug builds check that.
    @inline(__always)
    mutating func apply(_ input: Input) {
        #if DEBUG
            if !receive(input) { DebugCheck.fail("A load at the stage \(stage) has ignored \(input)") }
        #else
            receive(input)
        #endif
    }

    private mutating func enter(_ stage: Stage) {
        self.stage = stage
        isRunning = false
    }

    private mutating func forgetResponse() { responseEnd = nil }

    // MARK: Derived state

    /// No event has an effect any more, except that the file of a failed load is closed.
    var hasEnded: Bool { stage >= .failing }

    /// Whether the load has started, has not ended, and does not wait for a route.
    var isLoading: Bool { stage > .connectivity && stage < .failing }

    /// Whether bytes of the body may be delivered, if the client accepts more.
    var mayDeliverBody: Bool { !isSuspended && !stage.awaitsAnswer && !hasEnded }

    /// Whether the load may wait for the network. The idle timeout then applies (CONN-13).
    @inline(__always)
    var awaitsNetwork: Bool { isLoading && !hasResponseEnded }

    /// A match, because `==` copies the error.
    @inline(__always)
    private var hasResponseEnded: Bool { if case .some = responseEnd { true } else { false } }
}
