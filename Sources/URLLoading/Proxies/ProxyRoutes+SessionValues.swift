internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

extension ProxyRoutes {
    /// The ways of a session (C-17, C-18).
    convenience init(_ session: SessionValues, on loop: EventLoop) {
        self.init(ProxyRules(session), on: loop) { address, done in
            ProxyScriptFetch.start(address) { script in loop.post { done(script) } }
        }
    }
}
