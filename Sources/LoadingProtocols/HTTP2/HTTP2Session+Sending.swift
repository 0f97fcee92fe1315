internal import CLoadingHTTP2
internal import LoadingSemantics

extension HTTP2Session {
    /// The next output, in pieces of up to 64 KiB; nil if there is none.
    ///
    /// The bytes are valid until the next call of this method, whatever else is called. After an error it returns
    /// the GOAWAY and then nil. It throws once when nghttp2 fails while it sends. Called by the observer it gives
    /// nil.
    package func nextOutput() throws(HTTP2Error) -> UnsafeRawBufferPointer? {
        if isBusy { return nil }
        guard let session = usable else {
            if !goAwayBytes.isEmpty {
                output.begin()
                goAwayBytes.withUnsafeBytes { output.append($0) }
                goAwayBytes = []
                return output.bytes
            }
            output.release()
            if let error, !isErrorThrown { throw thrown(error) }
            return nil
        }
        guard clh_wants_write(session) else {
            // The buffer is kept while streams are open.
            if openStreamCount == 0 { output.release() }
            return nil
        }
        output.begin()
        begin()
        defer {
            end()
            withExtendedLifetime(self) {}
        }
        while output.hasRoomForFrame, error == nil, !failsAfterwards {
            let before = output.count
            var bytes: UnsafePointer<UInt8>?
            let count = clh_send(session, &bytes)
            if count > 0, let bytes {
                append(UnsafeRawBufferPointer(start: bytes, count: count))
            } else if count < 0 {
                error = fatal(count)
            } else if output.count == before {
                break
            }
        }
        if output.count > 0 { return output.bytes }
        if let error, !isErrorThrown { throw thrown(error) }
        return nil
    }

    /// Adds the next output of nghttp2: the preface, or one frame.
    private func append(_ frame: UnsafeRawBufferPointer) {
        let head = frame.count >= HTTP2FrameHead.length ? HTTP2FrameHead(frame) : nil
        switch head?.type {
        case HTTP2FrameHead.settings where !hasSentSettings:
            hasSentSettings = true
            appendSettings(frame)
        case HTTP2FrameHead.headers, HTTP2FrameHead.continuation:
            output.append(frame)
            if let head { noteHead(head, frame) }
        default:
            output.append(frame)
        }
    }

    /// Adds SETTINGS_NO_RFC7540_PRIORITIES, by which servers know that they can go by `priority` (RFC 9218 §2.1).
    ///
    /// nghttp2 does not get the priority: it would send bodies one after the other, so a small one would wait for a
    /// large one.
    private func appendSettings(_ frame: UnsafeRawBufferPointer) {
        let setting: [UInt8] = [0, 9, 0, 0, 0, 1]
        var settings = Array(frame) + setting
        // A handful of settings: the length has one octet.
        settings[2] &+= UInt8(setting.count)
        settings.withUnsafeBytes { output.append($0) }
    }

    /// Reports the heads of requests; a long one takes several frames.
    private func noteHead(_ head: HTTP2FrameHead, _ frame: UnsafeRawBufferPointer) {
        headLength &+= frame.count
        guard head.has(HTTP2FrameHead.endsHeaders) else { return }
        let length = headLength
        headLength = 0
        guard let slot = slot(of: Int64(head.stream)) else { return }
        streams[slot].isHeadSent = true
        headWasSent(head.stream)
        if streams[slot].isMuted { return }
        observer?.sentHead(on: Int64(head.stream), byteCount: length)
        if !streams[slot].hasBody { reportSentRequest(on: slot) }
    }

    func reportSentRequest(on slot: Int) {
        if error != nil || streams[slot].isMuted { return }
        observer?.sentRequest(on: Int64(streams[slot].number))
    }

    // MARK: Request bodies for nghttp2

    func readBody(of slot: Int, atMost capacity: Int, count: UnsafeMutablePointer<Int>) -> clh_body {
        guard error == nil, !failsAfterwards, !streams[slot].isMuted, let observer else { return CLH_BODY_LATER }
        let number = streams[slot].number
        let room = output.bodyRoom(atMost: capacity)
        switch observer.fill(room, withBodyOf: Int64(number)) {
        case .bytes(let written, let isLast):
            count.pointee = min(max(written, 0), room.count)
            if isLast { return CLH_BODY_LAST }
            // Empty frames are not sent.
            return written > 0 ? CLH_BODY_DATA : CLH_BODY_LATER
        case .later:
            return CLH_BODY_LATER
        case .failed:
            reset(Int64(number), code: .cancel)
            return CLH_BODY_LATER
        }
    }

    func sentBody(head: UnsafeRawBufferPointer, contentCount: Int, isLast: Bool, of slot: Int?) {
        output.appendBodyFrame(head: head, contentCount: contentCount)
        budget.addSentContent(contentCount)
        guard let slot, !streams[slot].isMuted else { return }
        let number = streams[slot].number
        observer?.sentBody(on: Int64(number), byteCount: contentCount, frameByteCount: head.count &+ contentCount)
        if isLast { reportSentRequest(on: slot) }
    }

    func gaveUp(_ code: HTTP2ErrorCode, _ text: String) {
        // A flood has its own error, set before.
        if error == nil || error == .violation(.protocolError, "") { error = .violation(code, text) }
    }
}
