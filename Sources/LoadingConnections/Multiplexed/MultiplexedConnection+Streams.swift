internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingTransport

/// Events of the session's streams. These methods may call the session's requests, but neither read from nor write to
/// the socket.
extension MultiplexedConnection {
    func received(informational head: HTTPStreamResponseHead, on stream: Int64) {
        if let receiver = streams[stream] { return receiver.received(informational: head) }
        keepEarly(.informational(head), on: stream)
    }

    func received(_ head: HTTPStreamResponseHead, endsStream: Bool, on stream: Int64) {
        answerCount &+= 1
        primaryOrigin.lastAnswer = pool.loop.now
        responseBegan()
        guard let receiver = streams[stream] else {
            keepEarly(.head(head, isWhole: endsStream), on: stream)
            return
        }
        if !isTooEarly(head, on: stream) { receiver.received(head, isWhole: endsStream) }
    }

    func received(body bytes: UnsafeRawBufferPointer, on stream: Int64) {
        if let receiver = streams[stream] { return receiver.received(bytes) }
        if !keepEarly(.body([UInt8](bytes)), on: stream) { consumed(bytes.count, on: stream) }
    }

    func responseEnded(on stream: Int64) {
        if let receiver = streams[stream] { return receiver.receivedEnd() }
        keepEarly(.end(bytes: Int64(session.receivedBodyFrameBytes(on: stream))), on: stream)
    }

    func closed(_ stream: Int64, with failure: HTTPStreamFailure?) {
        willClose(stream, with: failure)
        guard let closed = streams.remove(stream) else { return }
        becameFree()
        guard let failure else { return closed.closed() }
        let (closedFailure, loss) = reported(failure)
        closed.fail(closedFailure, loss: loss)
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer, withBodyOf stream: Int64) -> HTTPStreamBodyRead {
        streams[stream]?.fill(buffer) ?? .failed
    }

    func sentHead(on stream: Int64, byteCount: Int) {
        if let sender = streams[stream] { return sender.sentHead(byteCount) }
        keepEarly(.sentHead(byteCount), on: stream)
    }

    func sentBody(on stream: Int64, byteCount: Int, frameByteCount: Int) {
        streams[stream]?.sentBody(byteCount, onWire: frameByteCount)
    }

    func sentRequest(on stream: Int64) {
        if let sender = streams[stream] { return sender.sentRequest() }
        keepEarly(.sentRequest(at: EventLog.now), on: stream)
    }
}
