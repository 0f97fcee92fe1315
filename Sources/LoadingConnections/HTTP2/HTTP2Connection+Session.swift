internal import LoadingProtocols
internal import LoadingSemantics

extension HTTP2Connection: HTTP2SessionObserver {
    func responseBegan() {
        // This also works with a server that acknowledges no PING.
        if let requestLimit, requestLimit.isDisproved(by: answerCount) { liftLimit() }
    }

    func willClose(_ number: Int64, with failure: HTTPStreamFailure?) { ending.remove(number) }

    func reported(_ failure: HTTPStreamFailure) -> (HTTPStreamFailure, loss: LoadError?) {
        switch failure {
        case .refused where goAwayCode == .http11Required: (.http11Required, loss)
        // The request did not cause the loss that ended other streams. On a connection without any response, the cause
        // applies to the request too.
        case .connectionLost(after: .unsent) where hasAnswered: (failure, nil)
        default: (failure, loss)
        }
    }

    func peerSettingsChanged() { becameFree() }

    /// The server takes no requests after stream `lastStream`.
    func peerIsGoingAway(lastStream: Int64, code: HTTP2ErrorCode) {
        goAwayCode = code
        pool.retire(self)
        // The first of two GOAWAY frames does not name the last stream (RFC 9113 §6.8).
        guard lastStream > 0, lastStream < Int32.max else { return }
        let taken = min(requestCount, Int(lastStream / 2) + 1)
        if code == .noError, taken > 0 { pool.requestLimits[primaryOrigin.key] = .announced(taken) }
    }

    func receivedPingAnswer(_ payload: UInt64) {
        if payload == limitPing { liftLimit() }
    }
}
