internal import FoundationEssentials
internal import Glibc
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// Sending the request: unsent bytes first, then the body.
extension HTTP1Connection {
    /// Writes the head (and a small body with it) and keeps what the socket did not take.
    func writeFirst(_ bytes: [UInt8]) {
        var taken = 0
        switch bytes.withUnsafeBytes({ stream.write($0) }) {
        case .bytes(let count): taken = count
        case .wouldBlock: break
        case .failed(let failure): return fail(writing: failure)
        }
        if taken < bytes.count { unsent.keep(bytes[taken...]) }
        if taken > 0 { note(unsent.sent(taken)) }
    }

    /// Sends as much as the socket takes.
    func pump() {
        while observer != nil, !isSentWhole, !isSuspended {
            if !unsent.isEmpty {
                guard flushUnsent() else { return }
                continue
            }
            switch body.next {
            case .end:
                isSentWhole = true
                observer?.exchangeSentRequest()
            case .bytes(let data, let offset, _):
                guard send(data, from: offset) else { return }
            case .pipe(let pipe, let count, _):
                guard took(stream.splice(from: pipe.readEnd, most: count)) else { return }
            case .source(let source):
                body.awaitSource()
                let exchange = exchangeNumber
                source.nextPiece(mayBePiped: stream.isPlain && !isChunked) { [weak self] piece in
                    guard let self, self.isCarrying(exchange) else { return }
                    self.received(piece)
                }
                if body.isAwaited { return }
            case .awaited, .held, .stopped:
                return
            }
        }
    }

    /// False when the socket is full or the exchange is over.
    private func flushUnsent() -> Bool {
        guard let count = count(of: unsent.withUnsent { stream.write($0) }) else { return false }
        note(unsent.took(count))
        return unsent.isEmpty
    }

    private func send(_ data: Data, from offset: Int) -> Bool {
        // One write of this size keeps within the time of a turn.
        let end = min(data.endIndex, offset + 1024 * 1024)
        return took(data[offset..<end].withUnsafeBytes { stream.write($0) })
    }

    /// False when the socket is full or the exchange is over.
    private func took(_ write: StreamWrite) -> Bool {
        guard let count = count(of: write) else { return false }
        body.advance(by: count)
        note(UnsentBytes.Sent(body: count))
        return true
    }

    /// How much was written; nil when the socket is full, or the exchange over.
    private func count(of write: StreamWrite) -> Int? {
        switch write {
        case .bytes(let count): return count
        case .wouldBlock: return nil
        case .failed(let failure):
            fail(writing: failure)
            return nil
        }
    }

    private func received(_ piece: Result<BodyPiece, LoadError>) {
        guard body.isAwaited else { return }
        do throws(LoadError) { try body.received(piece) } catch { return fail(error) }
        if isChunked {
            switch body.next {
            case .bytes(let data, _, _):
                unsent.append(chunk: data)
                body.advance(by: data.count)
            case .end: unsent.appendLastChunk()
            // An empty piece.
            case .pipe, .source, .awaited, .held, .stopped: break
            }
        }
        pump()
    }

    private func note(_ sent: UnsentBytes.Sent) {
        if progress == .unsent { progress = .sent }
        if sent.head > 0 {
            observer?.exchangeSentHead(bytes: sent.head)
            if !unsent.hasHead, body.isHeld {
                pool.loop.arm(timer, at: pool.loop.now + pool.loop.limits.continueTimeout, for: self)
            }
        }
        let onWire = sent.body + sent.framing
        if onWire > 0 { observer?.exchangeSentBody(bytes: sent.body, onWire: onWire) }
    }

    /// The body that was held back is sent from now on.
    func releaseBody() { if body.release() { pool.loop.disarm(timer) } }

    func stopSending() {
        endSending()
        unsent.clear()
        isSentWhole = true
    }

    func endSending() {
        body.stop()
        pool.loop.disarm(timer)
    }

    /// A server that answered and closed while we were still sending makes the write fail. Its answer counts, so what
    /// it sent is read first; the reading ends with the connection's own end or failure.
    private func fail(writing failure: StreamFailure) {
        // The peer has closed the connection: reading tells how it ended, but not whether that was by a reset.
        guard failure.code == ECONNRESET || failure.code == EPIPE else { return fail(LoadError(failure)) }
        if failure.code == ECONNRESET { takenBefore = 0 }
        stopSending()
        // In the next turn: what the loop reads into may be in use for another connection in this one.
        stream.callAgain()
    }
}
