internal import LoadingEvents
internal import LoadingProtocols

/// Events of the session's streams. These methods may call the session's requests, but neither read from nor write to
/// the socket.
extension HTTP3Connection: HTTP3SessionObserver {
    func session(_ session: HTTP3Session, presented chain: [[UInt8]], cipherSuite: UInt16) {
        presented(chain, cipherSuite: cipherSuite)
    }

    func sessionCompletedHandshake(_ session: HTTP3Session) { completedHandshake() }

    func session(_ session: HTTP3Session, received resumption: HTTP3Resumption) { keep(resumption) }

    func session(_ session: HTTP3Session, receivedInformational head: HTTPStreamResponseHead, on stream: Int64) {
        if let receiver = streams[stream] { return receiver.received(informational: head) }
        keepEarly(.informational(head), on: stream)
    }

    func session(_ session: HTTP3Session, received head: HTTPStreamResponseHead, endsStream: Bool, on stream: Int64) {
        answered()
        guard let receiver = streams[stream] else {
            keepEarly(.head(head, isWhole: endsStream), on: stream)
            return
        }
        if !isTooEarly(head, on: stream) { receiver.received(head, isWhole: endsStream) }
    }

    func session(_ session: HTTP3Session, receivedBody bytes: UnsafeRawBufferPointer, on stream: Int64) {
        guard let receiver = streams[stream] else {
            if keepEarly(.body([UInt8](bytes)), on: stream) { return }
            return session.consumed(bytes.count, on: stream)
        }
        receiver.received(bytes)
    }

    func session(_ session: HTTP3Session, endedResponseOn stream: Int64) {
        if let receiver = streams[stream] { return receiver.receivedEnd() }
        keepEarly(.end(bytes: Int64(session.receivedBodyFrameBytes(on: stream))), on: stream)
    }

    func session(_ session: HTTP3Session, closed stream: Int64, with failure: HTTPStreamFailure?) {
        guard let closed = streams.removeValue(forKey: stream) else { return earlyEnded(stream, with: failure) }
        forgetEarly(stream)
        becameFree()
        if failure == .refused { refused() }
        if let failure { closed.fail(told(failure), loss: loss) } else { closed.closed() }
    }

    func session(
        _ session: HTTP3Session, wantsBodyOf stream: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) -> HTTPStreamBodyRead {
        streams[stream]?.fill(buffer) ?? .failed
    }

    func session(_ session: HTTP3Session, sentHeadOn stream: Int64, byteCount: Int) {
        if let sender = streams[stream] { return sender.sentHead(byteCount) }
        keepEarly(.sentHead(byteCount), on: stream)
    }

    func session(_ session: HTTP3Session, sentBodyOn stream: Int64, byteCount: Int, frameByteCount: Int) {
        streams[stream]?.sentBody(byteCount, onWire: frameByteCount)
    }

    func session(_ session: HTTP3Session, sentRequestOn stream: Int64) {
        if let sender = streams[stream] { return sender.sentRequest() }
        keepEarly(.sentRequest(at: EventLog.now), on: stream)
    }

    func sessionChangedPeerSettings(_ session: HTTP3Session) { roomChanged() }

    func sessionIsGoingAway(_ session: HTTP3Session, lastStream: Int64) {
        if isAdopted { pool.retire(self) }
    }

    func sessionReceivedPingAnswer(_ session: HTTP3Session) { receivedAnswer() }
}
