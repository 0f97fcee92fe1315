internal import CLoadingHTTP3
internal import LoadingSemantics

extension HTTP3Session {
    /// Receives datagrams of `segment` bytes each; the last may be shorter. They may be forged.
    ///
    /// Consecutive content of one body is reported together.
    ///
    /// After an error `nextOutput(at:)` returns the CONNECTION_CLOSE, if there is one, and the connection must be
    /// closed; `fail()` reports the streams' ends. Called by the observer it throws and does nothing.
    ///
    /// - Parameter ecn: The two ECN bits of the datagrams.
    package func receive(
        _ datagrams: UnsafeRawBufferPointer, segment: Int = .max, ecn: UInt8, at now: Int64
    ) throws(HTTP3Error) {
        let segment = max(segment, 1)
        let count = max(datagrams.count &- 1, 0) / segment &+ 1
        try work(at: now, datagrams: count) { session in
            var rest = datagrams
            repeat {
                let datagram = UnsafeRawBufferPointer(rebasing: rest.prefix(segment))
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(datagram.count))
                let result = receiveOne(datagram, ecn: ecn, by: session)
                if result != 0 { return result }
            } while !rest.isEmpty && !isEnding
            return cl3_received_all(session)
        }
    }

    private func receiveOne(_ datagram: UnsafeRawBufferPointer, ecn: UInt8, by session: OpaquePointer) -> Int32 {
        let inFlight = isPingOut ? cl3_in_flight(session) : 0
        let result = cl3_receive(
            session, datagram.assumingMemoryBound(to: UInt8.self).baseAddress, datagram.count, ecn,
            UInt64(max(now, 0)))
        if result == 0, isPingOut, cl3_in_flight(session) < inFlight {
            isPingOut = false
            observer?.receivedPingAnswer()
        }
        return result
    }

    /// Does the work that is due at `deadline`. Throws as `receive(_:ecn:at:)` does.
    package func handleDeadline(at now: Int64) throws(HTTP3Error) {
        try work(at: now, datagrams: 0) { session in cl3_handle_expiry(session, UInt64(max(now, 0))) }
    }

    /// Runs `body`, which may report events.
    func work(at now: Int64, datagrams: Int, _ body: (OpaquePointer) -> Int32) throws(HTTP3Error) {
        if isBusy { throw .reentered }
        guard let session = usable else { throw thrown(error ?? .closed) }
        self.now = max(now, self.now)
        mayHaveOutput = true
        begin()
        defer {
            end()
            withExtendedLifetime(self) {}
        }
        let result = body(session)
        if result != 0 { throw thrown(failed(session)) }
        let caused = cl3_take_work(session)
        if UInt64(datagrams) > caused.foreign { lastAuthenticated = self.now }
        if !budget.received(datagrams, causing: caused) {
            cl3_close(
                session, CL3_CODE_APPLICATION, HTTP3ErrorCode.excessiveLoad.rawValue, UInt64(max(self.now, 0)))
            keepCloseDatagram(session)
            throw thrown(.flood(.idle))
        }
    }

    func thrown(_ error: HTTP3Error) -> HTTP3Error {
        if self.error == nil { self.error = error }
        isErrorThrown = true
        return error
    }

    /// The C session has failed. Returns the reason, and keeps the CONNECTION_CLOSE.
    func failed(_ session: OpaquePointer) -> HTTP3Error {
        keepCloseDatagram(session)
        let problem = cl3_problem_of(session)
        let text = String(
            decoding: UnsafeBufferPointer(start: problem.text, count: problem.text_length), as: UTF8.self)
        let error: HTTP3Error =
            switch problem.result {
            case CL3_OUT_OF_MEMORY: .outOfMemory
            case CL3_SECTION_TOO_LONG: .flood(.headerList)
            case CL3_TLS: .handshake(alert: UInt8(truncatingIfNeeded: problem.code))
            case CL3_HELLO_RETRY_REQUEST: .helloRetryRequest
            case CL3_CLOSED_BY_PEER:
                .closedByPeer(code: problem.code, isApplication: problem.is_application, reason: text)
            case CL3_STATELESS_RESET: .statelessReset
            case CL3_IDLE: .idleTimeout
            case CL3_HANDSHAKE_TIMEOUT: .handshakeTimeout
            case CL3_NO_VERSION: .versionNegotiation
            case CL3_NO_PATH: .noPath
            case CL3_CLOSED: .closed
            default: .violation(code: problem.code, isApplication: problem.is_application, text)
            }
        self.error = error
        return error
    }

    // MARK: Events from C

    func received(_ section: cl3_section, on slot: Int) {
        if error != nil || streams[slot].isMuted { return }
        let number = streams[slot].number
        guard section.status >= 100 else {
            return end(slot, .malformed("The status is none."), code: .messageError)
        }
        let head = HTTPStreamResponseHead(
            status: Int(section.status), fields: HTTPFields(section), byteCount: section.wire_length)
        streams[slot].isAnswered = true
        streams[slot].headLength &+= section.wire_length
        if head.status < 200 {
            guard streams[slot].countInformational(head, within: configuration.limits) else {
                return end(slot, .malformed("There are too many interim responses."), code: .excessiveLoad)
            }
            observer?.received(informational: head, on: number)
            return
        }
        budget.addRequest()
        observer?.received(head, endsStream: section.ends_stream, on: number)
    }

    func receivedBody(_ bytes: UnsafeRawBufferPointer, pieces: Int, on slot: Int) {
        unreturned &+= bytes.count
        if error == nil, !streams[slot].isMuted {
            budget.addReceivedContent(bytes.count, in: pieces)
            streams[slot].window.received(bytes.count)
            unread.received(bytes.count)
            observer?.received(body: bytes, on: streams[slot].number)
        }
        returnToConnection()
    }

    func responseEnded(on slot: Int) {
        if error != nil || streams[slot].isMuted || streams[slot].hasEnded { return }
        streams[slot].hasEnded = true
        observer?.responseEnded(on: streams[slot].number)
    }

    func streamWasReset(_ code: HTTP3ErrorCode, on slot: Int) {
        if error == nil { mute(slot, streams[slot].reset(code)) }
    }

    func streamIsInvalid(_ text: String, on slot: Int) {
        if error == nil { mute(slot, .malformed(text)) }
    }

    func streamIsTruncated(on slot: Int) {
        if error == nil { mute(slot, .truncated) }
    }
}

extension HTTPFields {
    /// Copies the bytes and the positions.
    fileprivate init(_ section: cl3_section) {
        let positions = UnsafeRawPointer(section.positions)?.assumingMemoryBound(to: Position.self)
        self.init(
            bytes: [UInt8](UnsafeBufferPointer(start: section.bytes, count: section.byte_count)),
            positions: [Position](UnsafeBufferPointer(start: positions, count: section.count)))
    }
}
