internal import CLoadingHTTP3
internal import LoadingSemantics

/// The next datagrams, one behind the other. They are valid until the next call of `nextOutput(at:)`.
package struct HTTP3Output {
    package var bytes: UnsafeRawBufferPointer
    /// The length of each datagram; the last may be shorter.
    package var segmentSize: Int
    /// The two ECN bits.
    package var ecn: UInt8
}

extension HTTP3Session {
    /// The next output; nil if there is none now.
    ///
    /// The bytes are valid until the next call of this method, whatever else is called. After an error it returns the
    /// CONNECTION_CLOSE and then nil. It throws once when the libraries fail while they send. Called by the observer it
    /// gives nil.
    package func nextOutput(at now: Int64) throws(HTTP3Error) -> HTTP3Output? {
        if isBusy { return nil }
        guard let session = usable else {
            if !closeDatagram.isEmpty { return takeCloseDatagram() }
            if let error, !isErrorThrown { throw thrown(error) }
            return nil
        }
        self.now = max(now, self.now)
        repeat {
            mayHaveOutput = false
            var output = cl3_output()
            begin()
            let result = cl3_write(session, UInt64(max(now, 0)), &output)
            if result != 0 { _ = failed(session) }
            end()
            if output.count > 0 {
                if isPingWanted {
                    isPingWanted = false
                    isPingOut = true
                }
                mayHaveOutput = true
                return HTTP3Output(
                    bytes: UnsafeRawBufferPointer(start: output.bytes, count: output.count),
                    segmentSize: output.segment, ecn: output.ecn)
            }
        } while mayHaveOutput && error == nil
        if error != nil {
            if !closeDatagram.isEmpty { return takeCloseDatagram() }
            if let error, !isErrorThrown { throw thrown(error) }
            return nil
        }
        // The buffer is kept while streams are open.
        if openStreamCount == 0 { cl3_release_room(session) }
        return nil
    }

    private func takeCloseDatagram() -> HTTP3Output {
        defer { dropCloseDatagram() }
        return HTTP3Output(bytes: closeDatagram, segmentSize: closeDatagram.count, ecn: 0)
    }

    // MARK: Request bodies and events from C

    func readBody(
        of slot: Int, into room: UnsafeMutableRawBufferPointer, count: UnsafeMutablePointer<Int>
    ) -> cl3_body {
        guard error == nil, !failsAfterwards, !streams[slot].isMuted, let observer else { return CL3_BODY_LATER }
        switch observer.fill(room, withBodyOf: streams[slot].number) {
        case .bytes(let written, let isLast):
            // The observer may have reset the stream.
            if streams[slot].isMuted { return CL3_BODY_LATER }
            count.pointee = min(max(written, 0), room.count)
            if isLast { return CL3_BODY_LAST }
            // Empty frames are not sent.
            return written > 0 ? CL3_BODY_DATA : CL3_BODY_LATER
        case .later:
            return CL3_BODY_LATER
        case .failed:
            end(slot, .cancelled, code: .requestCancelled)
            return CL3_BODY_LATER
        }
    }

    func sentHead(ofLength length: Int, on slot: Int) {
        streams[slot].isHeadSent = true
        if error == nil, !streams[slot].isMuted {
            observer?.sentHead(on: streams[slot].number, byteCount: length)
        }
    }

    func sentBody(ofLength length: Int, frameLength: Int, on slot: Int) {
        budget.addSentContent(length)
        if error == nil, !streams[slot].isMuted {
            observer?.sentBody(on: streams[slot].number, byteCount: length, frameByteCount: frameLength)
        }
    }

    func sentRequest(on slot: Int) {
        if error == nil, !streams[slot].isMuted { observer?.sentRequest(on: streams[slot].number) }
    }
}
