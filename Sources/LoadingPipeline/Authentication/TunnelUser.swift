internal import LoadingEvents
internal import LoadingSemantics

/// A load whose connections may lead through a proxy's tunnel.
protocol TunnelUser: SchemeLoad {
    /// Who is asked.
    var tunnelClient: (any LoadClient)? { get }
    var log: EventLog? { get }
    /// How the client sees what a proxy has answered; nil where it sees no responses.
    func response(_ head: ResponseHead) -> LoadResponse?
}
