internal import LoadingSemantics

/// The life of one load as a value: the stage that it is at, and what becomes of it when something happens.
///
/// `HTTPLoad` tells what happened by `receive`, runs the stages that `next` names, and asks what follows for the connection, the
/// body and the clock. Nothing here knows a socket, a time or a client.
struct LoadMachine: Equatable {
    /// The stages, in the order in which a load passes them. One that sends another request (a redirect, an answered
    /// challenge, a retry) goes back to `transportSecurity`.
    enum Stage: Int, CaseIterable, Comparable, Sendable {
        case notStarted
        /// No route led to the server: the load waits until there is another one (CONN-11).
        case connectivity
        /// An upload waits before it goes on (RES-18).
        case uploadPause
        /// HSTS makes the request a secure one, App Transport Security may refuse it (TLS-1, TLS-7).
        case transportSecurity
        /// The value of the `Cookie` field is asked for.
        case cookies
        /// What the cache has for the request is looked up.
        case cacheLookup
        /// The request gets its credentials; the cache answers it, adds conditions, lets it pass or refuses it.
        case cacheDecision
        /// The body of the request is made ready; one that is a stream when there is a connection (S-50).
        case requestBody
        /// The proxies are found by which the server is reached.
        case proxyResolution
        /// A connection from the pool, the request, and the head of its response.
        case exchange
        /// A server or a proxy asks for credentials.
        case challenge
        /// The response is a redirect, about which the client is asked.
        case redirect
        /// The connection of an upload was lost, and the client is asked whether it may go on at another origin.
        case uploadMove
        /// The response does not say its media type, for which the first bytes of its body are awaited (MISC-11).
        case mediaType
        /// The client is asked whether it lets the response through.
        case response
        /// The body goes to the client.
        case body
        /// All of the body is delivered, and its file is being closed.
        case closingFile
        /// All of the body is delivered, and the client decides whether the response is stored.
        case storing
        /// The load has failed, and the file with what came before is being closed.
        case failing
        case ended

        static func < (a: Stage, b: Stage) -> Bool { a.rawValue < b.rawValue }

        /// Those that prepare a request, which `next` names when they are to be run.
        var preparesRequest: Bool { (Stage.transportSecurity...Stage.exchange).contains(self) }

        /// The stages in which the load waits for an answer.
        var awaitsAnswer: Bool { (Stage.challenge...Stage.response).contains(self) }
    }

    /// How the body of the response ended, kept while what came before it has not been delivered.
    enum ResponseEnd: Equatable {
        case complete
        case failed(LoadError)
    }

    enum Input: Equatable {
        case start
        /// The stage, which was run, has done its part.
        case passed(Stage)
        /// There is no way to the server, and another is waited for.
        case losesRoute
        /// An upload goes on after a pause.
        case pauses
        /// The exchange has come to nothing while the load is suspended, and is begun anew when it goes on.
        case givesUpExchange
        case suspend
        case resume
        /// A question is asked, and the load waits for the answer.
        case asks(Stage)
        /// The client accepts the response: the body may flow.
        case acceptsResponse
        /// The response is no challenge, and is examined further.
        case dropsChallenge
        /// The body flows, and the client hears of the response by its parts.
        case tellsParts
        /// No more of the response comes.
        case responseEnds(ResponseEnd)
        /// Another request is made: all that has come of the one before is forgotten.
        case fetchesAgain
        /// All of the body is delivered.
        case completes(withFile: Bool)
        /// There is a file to close before the end.
        case fails(LoadError)
        case ends
    }

    private(set) var stage = Stage.notStarted
    private(set) var isSuspended = false
    private(set) var responseEnd: ResponseEnd?
    /// Of a load that is failing.
    private(set) var failure: LoadError?
    /// The stage has been named by `next`, and has not passed.
    private var isRunning = false

    /// The stage that is to be run now, each time once; nil while something is awaited.
    mutating func next() -> Stage? {
        guard stage.preparesRequest, !isRunning, !isSuspended else { return nil }
        isRunning = true
        return stage
    }

    /// Takes what happened. False, and nothing has changed, if that has no meaning at the present stage: an answer that
    /// comes too late, or a second end. Inlined, so that a call costs what its one input does.
    @discardableResult
    @inline(__always)
    mutating func receive(_ input: Input) -> Bool {
        guard !hasEnded || input == .ends && stage == .failing else { return false }
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
            enter(.cacheDecision)
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
        case .tellsParts:
            guard (Stage.exchange...Stage.response).contains(stage) else { return false }
            enter(.body)
        case .responseEnds(let end):
            guard (Stage.cacheDecision...Stage.body).contains(stage), responseEnd == nil else { return false }
            responseEnd = end
        case .fetchesAgain:
            guard isLoading else { return false }
            forgetResponse()
            enter(.transportSecurity)
        case .completes(let withFile):
            guard stage == .body, responseEnd == .complete else { return false }
            enter(withFile ? .closingFile : .storing)
        case .fails(let error):
            failure = error
            enter(.failing)
        case .ends:
            enter(.ended)
        }
        return true
    }

    private mutating func enter(_ stage: Stage) {
        self.stage = stage
        isRunning = false
    }

    private mutating func forgetResponse() { responseEnd = nil }

    // MARK: What follows

    /// No event changes anything any more, except that the file of a failed load is closed.
    var hasEnded: Bool { stage >= .failing }

    /// Whether the load has begun, has not ended, and does not wait for a route.
    var isLoading: Bool { stage > .connectivity && stage < .failing }

    /// Whether what comes of the body may go to the client, if the client wants it.
    var letsBodyThrough: Bool { !isSuspended && !stage.awaitsAnswer && !hasEnded }

    /// Whether something of the network's may be awaited: then its silence counts (CONN-13).
    var awaitsNetwork: Bool { isLoading && responseEnd == nil }
}
