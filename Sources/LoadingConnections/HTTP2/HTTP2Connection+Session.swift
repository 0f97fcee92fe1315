internal import LoadingProtocols
internal import LoadingSemantics

/// Events of the session's streams. These methods may call the session's requests, but neither read from nor write to
/// the socket.
extension HTTP2Connection: HTTP2SessionObserver {
    func session(_ session: HTTP2Session, receivedInformational head: HTTPStreamResponseHead, on stream: Int32) {
        streams[Int64(stream)]?.received(informational: head)
    }

    func session(_ session: HTTP2Session, received head: HTTPStreamResponseHead, endsStream: Bool, on stream: Int32) {
        receivedResponse()
        streams[Int64(stream)]?.received(head, isWhole: endsStream)
    }

    func session(_ session: HTTP2Session, receivedBody bytes: UnsafeRawBufferPointer, on stream: Int32) {
        guard let receiver = streams[Int64(stream)] else { return session.consumed(bytes.count, on: stream) }
        receiver.received(bytes)
    }

    func session(_ session: HTTP2Session, endedResponseOn stream: Int32) { streams[Int64(stream)]?.receivedEnd() }

    func session(_ session: HTTP2Session, closed stream: Int32, with failure: HTTPStreamFailure?) {
        ending.remove(Int64(stream))
        guard let closed = streams.removeValue(forKey: Int64(stream)) else { return }
        becameFree()
        switch failure {
        case nil: closed.closed()
        case .refused where goodbye == .http11Required: closed.fail(.http11Required, loss: loss)
        // The request did not cause the loss that ended other streams. On a connection without any response, the cause
        // applies to the request too.
        case .connectionLost(after: .unsent) where answerCount > 0:
            closed.fail(.connectionLost(after: .unsent), loss: nil)
        case let failure?: closed.fail(failure, loss: loss)
        }
    }

    func session(
        _ session: HTTP2Session, wantsBodyOf stream: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) -> HTTPStreamBodyRead {
        streams[Int64(stream)]?.fill(buffer) ?? .failed
    }

    func session(_ session: HTTP2Session, sentHeadOn stream: Int32, byteCount: Int) {
        streams[Int64(stream)]?.sentHead(byteCount)
    }

    func session(_ session: HTTP2Session, sentBodyOn stream: Int32, byteCount: Int, frameByteCount: Int) {
        streams[Int64(stream)]?.sentBody(byteCount, onWire: frameByteCount)
    }

    func session(_ session: HTTP2Session, sentRequestOn stream: Int32) { streams[Int64(stream)]?.sentRequest() }

    func sessionChangedPeerSettings(_ session: HTTP2Session) { becameFree() }

    func sessionIsGoingAway(_ session: HTTP2Session, lastStream: Int32, code: HTTP2ErrorCode) {
        receivedGoodbye(lastStream: lastStream, code)
    }

    func session(_ session: HTTP2Session, receivedPingAnswer payload: UInt64) {
        receivedPingAnswer(payload)
    }
}
