internal import FoundationEssentials
internal import Glibc
internal import LoadingSemantics
internal import LoadingTransport

/// Sending the request: unsent bytes first, then the body.
extension HTTP1Connection {
    /// Writes the head, with a small body behind it, and keeps the bytes that the socket did not take.
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
                guard advance(after: stream.splice(from: pipe.readEnd, most: count)) else { return }
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

    /// Returns false when the socket is full or the exchange is over.
    private func flushUnsent() -> Bool {
        guard let count = count(of: unsent.withUnsent { stream.write($0) }) else { return false }
        note(unsent.removeSent(count))
        return unsent.isEmpty
    }

    private func send(_ data: Data, from offset: Int) -> Bool {
        // A write of this size stays within the time of a turn.
        let end = min(data.endIndex, offset + 1024 * 1024)
        return advance(after: data[offset..<end].withUnsafeBytes { stream.write($0) })
    }

    /// Returns false when the socket is full or the exchange is over.
    private func advance(after write: StreamWrite) -> Bool {
        guard let count = count(of: write) else { return false }
        body.advance(by: count)
        note(UnsentBytes.Sent(body: count))
        return true
    }

    /// The number of bytes written. Nil when the socket is full or the exchange is over.
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

    /// Starts to send the body that was held for 100 (Continue).
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

    /// A write fails if the server responded and closed while the request was still being sent. That response counts,
    /// so the received data is read first. The read then ends with the connection's own end or failure.
    private func fail(writing failure: StreamFailure) {
        // The peer has closed the connection. Reading shows how it ended, but not whether a reset ended it.
        guard failure.code == ECONNRESET || failure.code == EPIPE else { return fail(LoadError(failure)) }
        if failure.code == ECONNRESET { acknowledgedBefore = 0 }
        stopSending()
        // Reads in the next turn: the loop's read buffer may be in use for another connection in this turn.
        stream.callAgain()
    }
}
