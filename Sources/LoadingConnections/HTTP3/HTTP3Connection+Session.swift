internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

extension HTTP3Connection: HTTP3SessionObserver {
    /// The first response proves that the server supports HTTP/3.
    func responseBegan() {
        if answerCount == 1 { pool.http3Services.succeeded(service, of: primaryOrigin.key.hostPort) }
    }

    func willClose(_ number: Int64, with failure: HTTPStreamFailure?) {
        if streams[number] == nil { earlyEnded(number, with: failure) } else { forgetEarly(number) }
    }

    /// A server that closes the connection because of the handshake has read no request, so the request can use TCP. A
    /// server that requested a client certificate would fail in the same manner over TCP.
    func reported(_ failure: HTTPStreamFailure) -> (HTTPStreamFailure, loss: LoadError?) {
        if failure == .refused { refused() }
        let isElsewhereBetter = isRefusedByHandshake && !hasAnswered && !session.isIdentityRequested
        if case .connectionLost(after: .sent) = failure, isElsewhereBetter { return (.refused, loss) }
        return (failure, loss)
    }

    func received(certificates chain: [[UInt8]], cipherSuite: UInt16) {
        certificates = chain
        self.cipherSuite = cipherSuite
    }

    /// The race is notified at the end of the turn.
    func handshakeCompleted() { isHandshakeComplete = true }

    /// The peer may accept more streams than before.
    func peerSettingsChanged() {
        guard !isClosed else { return }
        pool.loop.disarm(streamCreditTimer)
        hasRoomForMore = true
        planTurn()
    }

    /// The server takes no requests after stream `lastStream`.
    func peerIsGoingAway(lastStream: Int64) {
        hasReceivedGoAway = true
        // The first of two GOAWAY frames does not name the last stream (RFC 9114 §5.2). The next connection, which may
        // be made at once, has to know the limit.
        if lastStream >= 0, lastStream / 4 < requestCount {
            pool.http3RequestLimits[primaryOrigin.key] = Int(lastStream / 4) + 1
        }
        if isAdopted { pool.retire(self) }
    }

    /// The server is alive and still has the state of this connection.
    func receivedPingAnswer() {
        pool.loop.disarm(answerTimer)
        guard limitPing == .sent else { return }
        limitPing = .acknowledged
        forgetLimit()
    }
}
