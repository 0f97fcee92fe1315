internal import CLoadingHTTP3

/// Requests, their bodies' windows, and the ends of streams.
extension HTTP3Session {
    // MARK: Requests

    package func submit(_ request: HTTPStreamRequest) throws(HTTPStreamRequestError) -> Int64 {
        try submit(request, isEarly: false)
    }

    /// - Parameter isEarly: Whether it may be sent as early data, which an attacker may replay. If the server rejects
    ///   early data, the stream is closed as refused, and its number may be used again.
    package func submit(_ request: HTTPStreamRequest, isEarly: Bool) throws(HTTPStreamRequestError) -> Int64 {
        guard let session, allowsRequests(isEarly: isEarly) else { throw .notAllowed }
        let slot = freeSlots.popLast() ?? streams.count
        var handle: OpaquePointer?
        var number: Int64 = -1
        defer { if number < 0, slot < streams.count { freeSlots.append(slot) } }
        number = try encoder.withFields(of: request) { fields in
            // Both are laid out as nghttp2 and nghttp3 have it, which is the same.
            let fields = UnsafeRawBufferPointer(fields).assumingMemoryBound(to: cl3_field.self)
            return cl3_submit(session, fields.baseAddress, fields.count, slot, request.hasBody, &handle)
        }
        guard number >= 0, let handle else { throw .notAllowed }
        let stream = HTTP3Stream(number: number, handle: handle, window: configuration.windows.initialStream)
        if slot < streams.count { streams[slot] = stream } else { streams.append(stream) }
        slots[number] = slot
        budget.addRequest()
        mayHaveOutput = true
        if !isBusy { adaptKeepAlive() }
        return number
    }

    /// A body for which `HTTPStreamBodyRead.later` was returned has more bytes.
    package func resumeBody(of stream: Int64) {
        guard let session = usable, let slot = slots[stream] else { return }
        cl3_resume(session, streams[slot].handle)
        mayHaveOutput = true
    }

    /// The reader has consumed so many bytes of a body. The stream may be closed already.
    ///
    /// Opens the windows of the stream and of the connection, which may grow by `StreamWindowSizes`.
    package func consumed(_ count: Int, on stream: Int64) {
        guard let slot = slots[stream] else {
            if unread.consumed(count, ofClosed: stream) { returnToConnection() }
            return
        }
        let taken = streams[slot].window.consumed(count)
        if taken == 0 { return }
        unread.consumed(taken)
        if let session = usable, !streams[slot].hasEnded, !streams[slot].isMuted {
            let before = streams[slot].window.size
            let size = growth.grow(&streams[slot].window, upTo: configuration.windows.maximumStream) ?? before
            cl3_extend_stream(session, streams[slot].handle, UInt64(taken &+ size &- before))
            mayHaveOutput = true
        }
        returnToConnection()
    }

    /// Resets a stream. Only `closed` is reported after that, and its bytes need not be consumed.
    ///
    /// If the stream is closed already, its unread bytes are dropped.
    package func reset(_ stream: Int64, code: HTTP3ErrorCode = .requestCancelled) {
        if let slot = slots[stream] {
            end(slot, .cancelled, code: code)
        } else if unread.dropped(ofClosed: stream) {
            returnToConnection()
        }
    }

    package func setPriority(urgency: Int, isIncremental: Bool, of stream: Int64) {
        guard let session = usable, let slot = slots[stream] else { return }
        cl3_set_priority(session, streams[slot].handle, UInt32(min(max(urgency, 0), 7)), isIncremental)
        mayHaveOutput = true
    }

    // MARK: Streams

    /// Reports only the end of a stream from now on, for this reason unless there is an earlier one.
    func end(_ slot: Int, _ failure: HTTPStreamFailure, code: HTTP3ErrorCode) {
        if let session = usable { cl3_reset(session, streams[slot].handle, code.rawValue) }
        mute(slot, failure)
    }

    func mute(_ slot: Int, _ failure: HTTPStreamFailure) {
        if streams[slot].isMuted { return }
        streams[slot].isMuted = true
        budget.addCancelledWindow(streams[slot].window.size)
        if streams[slot].failure == nil, !streams[slot].hasEnded { streams[slot].failure = failure }
        unread.consumed(streams[slot].window.consumed(streams[slot].window.unread))
        ending.append(streams[slot].number)
        mayHaveOutput = true
        returnToConnection()
    }

    /// Reports the pending ends. Called after the libraries have returned.
    func reportEnds() {
        while error == nil, !failsAfterwards, !ending.isEmpty {
            let numbers = ending
            ending = []
            for number in numbers {
                guard let slot = slots[number], let session else { continue }
                let stream = streams[slot]
                noteLength(on: slot)
                cl3_detach(session, stream.handle)
                release(slot)
                observer?.closed(number, with: stream.end)
            }
        }
    }

    func streamClosed(on slot: Int) {
        let stream = streams[slot]
        noteLength(on: slot)
        release(slot)
        observer?.closed(stream.number, with: stream.end)
    }

    func earlyDataWasRejected() {
        for (number, slot) in slots.sorted(by: { $0.key < $1.key }) {
            let failure = streams[slot].failure ?? .refused
            release(slot)
            observer?.closed(number, with: failure)
        }
        ending = []
    }

    /// Keeps the received length of a stream while it is reported as closed.
    func noteLength(on slot: Int) {
        let number = streams[slot].number
        closing = (number, receivedBodyFrameBytes(on: number))
    }

    /// Frees the slot of a stream. Its unread bytes must still be consumed.
    func release(_ slot: Int) {
        let number = streams[slot].number
        unread.close(number, unread: streams[slot].window.unread)
        growth.takeBack(streams[slot].window)
        slots[number] = nil
        streams[slot].number = -1
        freeSlots.append(slot)
    }

    /// Opens the connection's window again, unless too many bytes are unread.
    func returnToConnection() {
        guard let session = usable else { return }
        let held = max(0, unread.count &- configuration.windows.maximumUnread)
        if unreturned <= held { return }
        cl3_extend_connection(session, UInt64(unreturned &- held))
        unreturned = held
        mayHaveOutput = true
    }
}
