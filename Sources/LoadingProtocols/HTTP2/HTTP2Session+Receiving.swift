internal import CLoadingHTTP2
internal import LoadingSemantics

extension HTTP2Session {
    /// Receives bytes from the peer.
    ///
    /// After an error `nextOutput()` gives the GOAWAY, if there is one, and the connection must be closed; `fail()`
    /// reports the streams' ends. Called by the observer it throws and does nothing.
    package func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        if isBusy { throw .reentered }
        guard let session = usable else { throw thrown(error ?? .closed) }
        begin()
        defer {
            end()
            withExtendedLifetime(self) {}
        }
        var rest = bytes
        while !rest.isEmpty, !failsAfterwards {
            let (count, head) = scanner.step(rest)
            if let head, let flood = budget.received(head) {
                giveUp(.enhanceYourCalm, .flood(flood))
                throw thrown(.flood(flood))
            }
            if let head, head.type == HTTP2FrameHead.data { beginBodyFrame(head) }
            let part = UnsafeRawBufferPointer(rebasing: rest[..<count])
            rest.dropPrefix(count)
            let result = opening == nil ? clh_receive(session, part) : receiveOpening(part, head, by: session)
            if result != 0 { throw thrown(fatal(Int(result))) }
            if hasGivenUp {
                // The GOAWAY frame for the peer has the reason, which `gaveUp` reports.
                collectGoAway()
                throw thrown(error ?? .violation(.protocolError, ""))
            }
        }
        // Frames that nghttp2 sends by itself, beyond those that it counts.
        let queue = clh_queue_length(session) &- queuedRequestCount
        if queue > 4 &* (configuration.limits.maximumUnsentAnswers &+ openStreamCount) {
            giveUp(.enhanceYourCalm, .flood(.unsentAnswers))
            throw thrown(.flood(.unsentAnswers))
        }
    }

    /// A server that closes a new connection may send GOAWAY as its first frame. That violates RFC 9113 §3.4, and
    /// nghttp2 would ignore the frame, which proves that no request was processed. So nghttp2 gets an empty SETTINGS
    /// frame before it.
    private func receiveOpening(
        _ part: UnsafeRawBufferPointer, _ head: HTTP2FrameHead?, by session: OpaquePointer
    ) -> Int32 {
        opening?.append(contentsOf: part)
        guard let head, let octets = opening else { return 0 }
        opening = nil
        let settings: [UInt8] =
            head.type == HTTP2FrameHead.goAway ? [0, 0, 0, HTTP2FrameHead.settings, 0, 0, 0, 0, 0] : []
        return (settings + octets).withUnsafeBytes { clh_receive(session, $0) }
    }

    /// nghttp2 has found a connection error, and reads nothing any more.
    private var hasGivenUp: Bool {
        guard let session, !isGoingAway, hasNumbersLeft else { return error != nil }
        return error != nil || !clh_allows_requests(session)
    }

    func thrown(_ error: HTTP2Error) -> HTTP2Error {
        if self.error == nil { self.error = error }
        isErrorThrown = true
        return error
    }

    func fatal(_ result: Int) -> HTTP2Error {
        switch result {
        case CLH_OUT_OF_MEMORY: .outOfMemory
        case CLH_SECTION_TOO_LONG: .flood(.headerList)
        case CLH_FLOODED: .flood(.unsentAnswers)
        default: .violation(.internalError, "nghttp2 cannot go on.")
        }
    }

    private func giveUp(_ code: HTTP2ErrorCode, _ error: HTTP2Error) {
        self.error = error
        if let session { clh_give_up(session, code.rawValue) }
        collectGoAway()
    }

    /// Keeps the output up to the GOAWAY. Bodies are not read any more.
    private func collectGoAway() {
        guard let session else { return }
        if error == nil { error = .violation(.protocolError, "") }
        var bytes: UnsafePointer<UInt8>?
        while goAwayBytes.count < 1 << 16, case let count = clh_send(session, &bytes), count > 0, let bytes {
            goAwayBytes.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        }
    }

    // MARK: Events from nghttp2

    func received(_ section: clh_section, on slot: Int) {
        if error != nil || streams[slot].isMuted { return }
        if section.status < 0 {
            // Trailers, which nghttp2 lets be nothing but the end.
            if section.ends_stream { responseEnded(on: slot) }
            return
        }
        let number = streams[slot].number
        guard section.status >= 100 else {
            return reject(slot, .protocolError, "The status is none.")
        }
        let head = HTTPStreamResponseHead(
            status: Int(section.status), fields: HTTPFields(section), byteCount: budget.blockLength)
        streams[slot].isAnswered = true
        if head.status < 200 {
            guard streams[slot].countInformational(head, within: configuration.limits) else {
                return reject(slot, .enhanceYourCalm, "There are too many interim responses.")
            }
            observer?.received(informational: head, on: Int64(number))
            return
        }
        streams[slot].hasHead = true
        let mayHaveBody = !streams[slot].isHead && head.status != 204 && head.status != 304
        streams[slot].missing = mayHaveBody ? max(section.body_length, 0) : 0
        budget.addRequest()
        observer?.received(head, endsStream: section.ends_stream, on: Int64(number))
        if section.ends_stream { responseEnded(on: slot) }
    }

    private func reject(_ slot: Int, _ code: HTTP2ErrorCode, _ text: String) {
        if let session { clh_reset(session, streams[slot].number, code.rawValue) }
        mute(slot, .malformed(text))
    }

    /// A frame that ends a body which is not whole with it: nghttp2 will reset the stream, and not say for what.
    ///
    /// Padding counts as content here, so that what is short by less than its padding is malformed in the wrong way. It
    /// ends either way.
    private func beginBodyFrame(_ head: HTTP2FrameHead) {
        frameContent = 0
        guard head.has(HTTP2FrameHead.endsStream), let slot = slot(of: Int64(head.stream)),
            streams[slot].missing > head.payloadLength, !streams[slot].isMuted, !streams[slot].hasEnded
        else { return }
        if streams[slot].failure == nil { streams[slot].failure = .truncated }
        // nghttp2 has no further callback for an empty frame.
        if head.payloadLength == 0 { countBody(0, on: slot) }
    }

    /// The frame's head comes with the first of its content.
    private func countBody(_ count: Int, on slot: Int) {
        if frameContent == 0 { streams[slot].receivedBodyFrameBytes &+= HTTP2FrameHead.length }
        frameContent &+= count
        streams[slot].receivedBodyFrameBytes &+= count
        streams[slot].missing &-= Int64(count)
    }

    func receivedBody(_ bytes: UnsafeRawBufferPointer, on slot: Int) {
        unreturned &+= bytes.count
        let isFirst = frameContent == 0
        countBody(bytes.count, on: slot)
        if error == nil, !streams[slot].isMuted {
            if isFirst { budget.addReceivedContent() }
            streams[slot].window.received(bytes.count)
            unread.received(bytes.count)
            observer?.received(body: bytes, on: Int64(streams[slot].number))
        }
        returnToConnection()
    }

    func receivedBodyFrame(ofLength length: Int, endsStream: Bool, on slot: Int) {
        // Its head, if there was no content to count it with, and its padding.
        if frameContent == 0 { countBody(0, on: slot) }
        streams[slot].receivedBodyFrameBytes &+= length &- frameContent
        if endsStream { responseEnded(on: slot) }
    }

    private func responseEnded(on slot: Int) {
        if error != nil || streams[slot].isMuted || streams[slot].hasEnded { return }
        streams[slot].hasEnded = true
        observer?.responseEnded(on: Int64(streams[slot].number))
    }

    func streamWasReset(_ code: HTTP2ErrorCode, on slot: Int) {
        streams[slot].wasReset(code)
    }

    func streamIsInvalid(_ text: String, on slot: Int) {
        if error == nil, !streams[slot].isMuted { mute(slot, .malformed(text)) }
    }

    func streamIsTruncated(on slot: Int) {
        guard error == nil, !streams[slot].isMuted else { return }
        mute(slot, streams[slot].hasHead ? .truncated : .malformed("The response has no status."))
    }

    func streamClosed(_ number: Int32, _ code: HTTP2ErrorCode, on slot: Int) {
        // `fail()` reports the streams that end with the connection.
        if error != nil { return }
        let stream = streams[slot]
        // Its end was reported when it was dropped, and the slot may belong to another stream now.
        guard stream.number == number else {
            droppedCount = max(0, droppedCount &- 1)
            return
        }
        release(slot)
        observer?.closed(Int64(stream.number), with: stream.end(code))
    }

    func peerSettingsChanged() {
        if error != nil { return }
        dropUnsent(beyond: maximumConcurrentStreams)
        observer?.peerSettingsChanged()
    }

    func peerIsLeaving(after lastStream: Int32, _ code: HTTP2ErrorCode) {
        isPeerLeaving = true
        if error != nil { return }
        observer?.peerIsGoingAway(lastStream: Int64(lastStream), code: code)
        dropUnsent(beyond: 0)
    }

    func pingWasAnswered(_ payload: UInt64) {
        if error == nil { observer?.receivedPingAnswer(payload) }
    }
}

private func clh_receive(_ session: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> Int32 {
    clh_receive(session, bytes.assumingMemoryBound(to: UInt8.self).baseAddress, bytes.count)
}

extension HTTPFields {
    /// Copies the bytes and the positions.
    fileprivate init(_ section: clh_section) {
        let positions = UnsafeRawPointer(section.positions)?.assumingMemoryBound(to: Position.self)
        self.init(
            bytes: [UInt8](UnsafeBufferPointer(start: section.bytes, count: section.byte_count)),
            positions: [Position](UnsafeBufferPointer(start: positions, count: section.count)))
    }
}
