internal import LoadingEvents
internal import LoadingProtocols

/// Early data (RFC 8446 §2.3): a request is sent with the first packets of a resumed session. Its response is kept here
/// until the handshake is complete, the server is trusted, and the connection is used for an equal request. A different
/// request, or one whose early data was not accepted, is sent in the usual manner.
extension HTTP3Connection {
    func sendEarly(_ request: HTTPStreamRequest) {
        guard session.mayOpenEarlyStream else { return }
        guard let number = try? session.submit(request, isEarly: true) else { return }
        early = EarlyExchange(request: request, number: number, start: EventLog.now)
    }

    /// Returns false if `number` is not the early request's stream.
    @discardableResult
    func keepEarly(_ event: @autoclosure () -> EarlyExchange.Event, on number: Int64) -> Bool {
        guard early?.number == number else { return false }
        early?.events.append(event())
        return true
    }

    /// The early request's stream is closed, and no request has adopted it yet.
    func earlyEnded(_ number: Int64, with failure: HTTPStreamFailure?) {
        guard early?.number == number else { return }
        // The server did not accept early data, or not this request.
        if failure != nil { early = nil }
        early?.isClosed = true
    }

    func forgetEarly(_ number: Int64) { if early?.number == number { early = nil } }

    /// The stream number of the early request if it equals `request`.
    func takeUpEarly(_ request: HTTPStreamRequest, for stream: HTTPStream) -> Int64? {
        guard let early, !early.isTakenUp, early.request == request else { return nil }
        if early.isTooEarly {
            dropEarly()
            return nil
        }
        self.early?.isTakenUp = true
        streams.insert(stream, number: early.number)
        planTurn()
        return early.number
    }

    /// Delivers the events that arrived before the early request was adopted.
    func replayEarly() {
        guard let early, early.isTakenUp, !early.events.isEmpty, let stream = streams[early.number] else { return }
        self.early?.events = []
        for event in early.events {
            switch event {
            case .sentHead(let count): stream.sentHead(count)
            case .sentRequest(let time): stream.sentRequestEarly(from: early.start, until: time)
            case .informational(let head): stream.received(informational: head)
            case .head(let head, let isWhole): stream.received(head, isWhole: isWhole)
            case .body(let bytes): bytes.withUnsafeBytes { stream.received($0) }
            case .end(let bytes):
                self.early?.events = [.end(bytes: bytes)]
                stream.receivedEnd()
                self.early?.events = []
            }
        }
        if early.isClosed, streams.remove(early.number) != nil { becameFree() }
        if early.isAnswered { self.early = nil }
    }

    /// The bytes that an early response took on the wire, once its stream is closed.
    func earlyWireBytes(of number: Int64) -> Int64? {
        guard let early, early.number == number, case .end(let bytes)? = early.events.last else { return nil }
        return bytes
    }

    /// Whether the server requires the early request again after the handshake (425, RFC 8470). If so, this sends it
    /// again.
    func isTooEarly(_ head: HTTPStreamResponseHead, on number: Int64) -> Bool {
        guard head.status == EarlyExchange.tooEarly, let early, early.number == number,
            let stream = streams.remove(number)
        else {
            forgetEarly(number)
            return false
        }
        self.early = nil
        session.reset(number)
        if let next = try? session.submit(early.request) {
            streams.insert(stream, number: next)
            stream.move(to: next)
        } else {
            stream.fail(.refused, loss: loss)
        }
        planTurn()
        return true
    }

    /// Resets the early request's stream if no request has adopted it.
    func dropEarly() {
        guard let early, !early.isTakenUp else { return }
        self.early = nil
        session.reset(early.number)
        if !isClosed { planTurn() }
    }
}
