internal import LoadingEvents
internal import LoadingSemantics

/// A load whose connections may lead through a proxy's tunnel.
protocol TunnelClient: Load {
    /// Who is asked.
    var loadClient: (any LoadClient)? { get }
    var log: EventLog? { get }
    /// How the client sees what a proxy has answered; nil where it sees no responses.
    func response(_ head: ResponseHead) -> LoadResponse?
}
