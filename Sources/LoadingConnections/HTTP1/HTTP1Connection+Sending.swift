internal import FoundationEssentials
internal import Glibc
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// The request on its way out: what is unsent goes first, then what `sending` says.
extension HTTP1Connection {
    /// What is to be sent after `unsent`.
    enum Sending {
        case nothing
        /// Bytes of the caller's, from `offset` on, and what follows them.
        case bytes(Data, offset: Int, then: (any RequestBodySource)?)
        /// So many bytes that lie in a pipe, and what follows them.
        case pipe(SplicePipe, Int, then: (any RequestBodySource)?)
        case source(any RequestBodySource)
        /// The source was asked and has not answered.
        case awaiting(any RequestBodySource)
        /// Until the machine says that the body may go (CONN-23).
        case held(RequestBody)
    }

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
            switch sending {
            case .nothing:
                isSentWhole = true
                _ = machine.sentBody()
                observer?.exchangeSentRequest()
            case .bytes(let data, let offset, let next):
                guard pump(data, from: offset, then: next) else { return }
            case .pipe(let pipe, let count, let next):
                guard pump(pipe, count, then: next) else { return }
            case .source(let source):
                sending = .awaiting(source)
                let exchange = exchangeNumber
                source.nextPiece(mayBePiped: stream.isPlain && !isChunked) { [weak self] piece in
                    guard let self, self.isCarrying(exchange) else { return }
                    self.received(piece, from: source)
                }
                if case .awaiting = sending { return }
            case .awaiting, .held:
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

    private func pump(_ data: Data, from offset: Int, then next: (any RequestBodySource)?) -> Bool {
        guard offset < data.endIndex else {
            sending = next.map { .source($0) } ?? .nothing
            return true
        }
        // A piece this long keeps one write well within the time of a turn.
        let end = min(data.endIndex, offset + 1024 * 1024)
        guard let count = count(of: data[offset..<end].withUnsafeBytes { stream.write($0) }) else { return false }
        sending = .bytes(data, offset: offset + count, then: next)
        note(UnsentBytes.Sent(body: count))
        return true
    }

    private func pump(_ pipe: SplicePipe, _ left: Int, then next: (any RequestBodySource)?) -> Bool {
        guard left > 0 else {
            sending = next.map { .source($0) } ?? .nothing
            return true
        }
        guard let count = count(of: stream.splice(from: pipe.readEnd, most: left)) else { return false }
        sending = .pipe(pipe, left - count, then: next)
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

    private func received(_ piece: Result<BodyPiece, LoadError>, from source: any RequestBodySource) {
        guard case .awaiting = sending else { return }
        switch piece {
        case .failure(let error):
            return fail(error)
        case .success(.bytes(let data)):
            let taken = missing.map { data.prefix(Int(clamping: $0)) } ?? data
            let next = rest(of: source, after: taken.count)
            if isChunked {
                unsent.append(chunk: taken)
                sending = next.map { .source($0) } ?? .nothing
            } else {
                sending = .bytes(taken, offset: taken.startIndex, then: next)
            }
        case .success(.piped(let pipe, let count)):
            let taken = missing.map { min(count, Int(clamping: $0)) } ?? count
            sending = .pipe(pipe, taken, then: rest(of: source, after: taken))
        case .success(.end):
            if let missing, missing > 0 { return fail(.requestBodyStreamExhausted) }
            sending = .nothing
            if isChunked { unsent.appendLastChunk() }
        }
        pump()
    }

    /// The source as long as it has more to give than the bytes it has just given. Whatever is behind an announced length
    /// would be read as another request.
    private func rest(of source: any RequestBodySource, after count: Int) -> (any RequestBodySource)? {
        guard let missing else { return source }
        self.missing = missing - Int64(count)
        if missing > count { return source }
        source.cancel()
        return nil
    }

    private func note(_ sent: UnsentBytes.Sent) {
        machine.sentBytes()
        if sent.head > 0 {
            observer?.exchangeSentHead(bytes: sent.head)
            if !unsent.hasHead {
                let timeout = pool.loop.limits.continueTimeout
                perform(machine.sentHead(at: UInt64(bitPattern: pool.loop.now), continueTimeout: timeout))
            }
        }
        let onWire = sent.body + sent.framing
        if onWire > 0 { observer?.exchangeSentBody(bytes: sent.body, onWire: onWire) }
    }

    /// The body that was held back may go.
    func releaseBody() {
        guard case .held(let body) = sending else { return }
        pool.loop.disarm(timer)
        switch body {
        case .none: sending = .nothing
        case .bytes(let data): sending = .bytes(data, offset: data.startIndex, then: nil)
        case .source(let source, let length):
            sending = .source(source)
            missing = length
        }
    }

    func stopSending() {
        endSending()
        unsent.clear()
        isSentWhole = true
    }

    func endSending() {
        switch sending {
        case .source(let source), .awaiting(let source), .held(.source(let source, _)), .bytes(_, _, let source?),
            .pipe(_, _, let source?):
            source.cancel()
        case .nothing, .bytes, .pipe, .held: break
        }
        sending = .nothing
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
