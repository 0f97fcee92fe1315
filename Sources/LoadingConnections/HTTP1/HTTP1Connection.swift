package import FoundationEssentials
package import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// A connection that speaks HTTP/1.1: carries one exchange after the other over a `ByteStream`. Confined to its loop,
/// owned by its pool.
///
/// Back-pressure: while `isPaused` nothing is read, so the kernel's buffer fills and the server's window closes.
package final class HTTP1Connection: ByteStreamOwner, LoopTimerTarget {
    let home: OriginConnections
    let generation: Int
    private let pool: ConnectionPool
    private let stream: ByteStream
    package let protocolName = "http/1.1"

    // Kept by the pool.
    var isIdle = false
    var idleDeadline: Int64 = 0
    /// From the server's `Keep-Alive: timeout=`, less a second for what is on its way.
    private(set) var announcedIdleLifetime: Int64 = .max

    // The exchange that is under way.
    private var observer: (any ExchangeObserver)?
    private var parser = HTTP1ResponseParser()
    private var sending = Sending.nothing
    /// What the socket did not take yet.
    private var unsent: [UInt8] = []
    private var unsentStart = 0
    /// How much of `unsent` still belongs to the head, for the counters.
    private var unsentHeadBytes = 0
    private var isChunked = false
    private var wasAnythingSent = false
    private var isSentWhole = false
    private var hasResponseStarted = false
    private var isPaused = false
    private var isHandlingReadiness = false
    private var continueTimer: LoopTimer?

    private enum Sending {
        case nothing
        /// Bytes of the caller's, from `offset` on.
        case bytes(Data, offset: Int)
        case source(any RequestBodySource)
        /// Waiting for the source to deliver.
        case awaiting(any RequestBodySource)
        /// The head is out, the body waits for `100 Continue` (CONN-23).
        case holding(RequestBody)
    }

    /// A body up to this size goes out in one write with the head.
    private static let joinedBodyLimit = 64 * 1024
    /// What a client that expects 100 waits for it before it sends the body all the same (CONN-23).
    private static let continuePatience: Int64 = 1_000_000_000
    /// Bytes of one connection that a turn reads before the others have theirs.
    private static let readBudget = 64 * 1024
    /// From this many expected bytes on it pays to read straight into the body's own buffer.
    private static let directReadMinimum = 16 * 1024

    init(stream: ByteStream, home: OriginConnections, pool: ConnectionPool, generation: Int) {
        self.stream = stream
        self.home = home
        self.pool = pool
        self.generation = generation
        stream.owner = self
    }

    var isClosed: Bool { stream.isClosed }

    package func facts(isReused: Bool) -> ConnectionFacts {
        let local = stream.localAddress
        let remote = stream.remoteAddress
        let secure = stream.tls?.session
        return ConnectionFacts(
            protocolName: protocolName, isReused: isReused,
            localAddress: local?.hostText, localPort: local.map { Int($0.port) },
            remoteAddress: remote?.hostText, remotePort: remote.map { Int($0.port) },
            tlsVersion: secure?.version, tlsCipherSuite: secure?.cipherSuite)
    }

    // MARK: Starting

    /// Sends a request over this connection, which is not carrying another. Every outcome goes to `observer`.
    package func start(_ request: ExchangeRequest, observer: any ExchangeObserver) {
        self.observer = observer
        parser.begin(HTTP1RequestKind(method: request.method))
        wasAnythingSent = false
        isSentWhole = false
        hasResponseStarted = false
        isPaused = false
        isChunked = false
        sending = .nothing

        var head = pool.encodeBuffer
        pool.encodeBuffer = []
        head.removeAll(keepingCapacity: true)
        defer { pool.encodeBuffer = head }
        if let problem = HTTP1RequestEncoder.encode(
            method: request.method, target: request.target, fields: request.fields, into: &head)
        {
            // Nothing was sent, so the connection is as good as before.
            self.observer = nil
            pool.release(self)
            observer.exchangeFailed(
                ExchangeFailure(
                    error: .badURL(problem), wasAnythingSent: false, wasAnythingReceived: false))
            return
        }
        unsentHeadBytes = head.count
        switch request.body {
        case .none: break
        case .bytes(let data) where !request.expectsContinue && data.count <= Self.joinedBodyLimit:
            head.append(contentsOf: data)
        case .bytes(let data):
            sending = request.expectsContinue ? .holding(request.body) : .bytes(data, offset: data.startIndex)
        case .source(let source, let length):
            isChunked = length == nil
            sending = request.expectsContinue ? .holding(request.body) : .source(source)
        }
        if case .holding = sending { armContinueTimer() }
        write(head)
        if observer === self.observer { pump() }
    }

    /// Writes the head (and a small body) and keeps what the socket did not take.
    private func write(_ bytes: [UInt8]) {
        var taken = 0
        switch bytes.withUnsafeBytes({ stream.write($0) }) {
        case .bytes(let count): taken = count
        case .wouldBlock: break
        case .failed(let failure): return fail(writing: failure)
        }
        if taken > 0 { note(sent: taken) }
        if taken < bytes.count {
            unsent = Array(bytes[taken...])
            unsentStart = 0
        }
    }

    private func note(sent count: Int) {
        wasAnythingSent = true
        var body = count
        if unsentHeadBytes > 0 {
            let head = min(count, unsentHeadBytes)
            unsentHeadBytes -= head
            body -= head
            observer?.exchangeSentHead(bytes: head)
        }
        if body > 0 { observer?.exchangeSentBody(bytes: body) }
    }

    // MARK: Sending

    /// Sends as much as the socket takes.
    private func pump() {
        while observer != nil {
            if unsentStart < unsent.count {
                guard flushUnsent() else { return }
                continue
            }
            switch sending {
            case .nothing:
                return finishSending()
            case .bytes(let data, let offset):
                guard pump(data, from: offset) else { return }
            case .source(let source):
                sending = .awaiting(source)
                let exchange = observer
                source.nextPiece { [weak self] piece in
                    guard let self, let exchange, self.observer === exchange else { return }
                    self.received(piece, from: source)
                }
                if case .awaiting = sending { return }
            case .awaiting, .holding:
                return
            }
        }
    }

    /// False when the socket is full or the exchange is over.
    private func flushUnsent() -> Bool {
        let result = unsent.withUnsafeBytes { stream.write(UnsafeRawBufferPointer(rebasing: $0[unsentStart...])) }
        switch result {
        case .bytes(let count):
            unsentStart += count
            note(sent: count)
            guard unsentStart == unsent.count else { return false }
            if unsent.count > Self.joinedBodyLimit { unsent = [] } else { unsent.removeAll(keepingCapacity: true) }
            unsentStart = 0
            return true
        case .wouldBlock:
            return false
        case .failed(let failure):
            fail(writing: failure)
            return false
        }
    }

    private func pump(_ data: Data, from offset: Int) -> Bool {
        guard offset < data.endIndex else {
            sending = .nothing
            return true
        }
        // A slice this long keeps one write well within the time of a turn.
        let end = min(data.endIndex, offset + 1024 * 1024)
        switch data[offset..<end].withUnsafeBytes({ stream.write($0) }) {
        case .bytes(let count):
            sending = .bytes(data, offset: offset + count)
            note(sent: count)
            return true
        case .wouldBlock:
            return false
        case .failed(let failure):
            fail(writing: failure)
            return false
        }
    }

    private func received(_ piece: Result<Data?, LoadError>, from source: any RequestBodySource) {
        guard case .awaiting = sending else { return }
        switch piece {
        case .failure(let error):
            fail(error)
        case .success(let data?) where data.isEmpty:
            sending = .source(source)
            pump()
        case .success(let data?):
            sending = .source(source)
            if isChunked {
                HTTP1RequestEncoder.chunkHead(data.count, into: &unsent)
                unsent.append(contentsOf: data)
                HTTP1RequestEncoder.chunkEnd(into: &unsent)
            } else {
                unsent.append(contentsOf: data)
            }
            pump()
        case .success(nil):
            sending = .nothing
            if isChunked { HTTP1RequestEncoder.lastChunk(into: &unsent) }
            pump()
        }
    }

    private func finishSending() {
        guard !isSentWhole else { return }
        isSentWhole = true
        observer?.exchangeSentRequest()
    }

    private func armContinueTimer() {
        let timer = continueTimer ?? LoopTimer()
        continueTimer = timer
        pool.loop.arm(timer, at: pool.loop.now + Self.continuePatience, for: self)
    }

    package func timerFired(_ timer: LoopTimer) { stopHolding() }

    /// Sends the body that was held back.
    private func stopHolding() {
        guard case .holding(let body) = sending else { return }
        if let continueTimer { pool.loop.disarm(continueTimer) }
        switch body {
        case .none: sending = .nothing
        case .bytes(let data): sending = .bytes(data, offset: data.startIndex)
        case .source(let source, _): sending = .source(source)
        }
        pump()
    }

    // MARK: Receiving

    /// Stops or goes on reading. Going on takes effect in this turn or the next.
    package func setPaused(_ paused: Bool) {
        guard paused != isPaused else { return }
        isPaused = paused
        if !paused, stream.mayHaveMore, !isHandlingReadiness { stream.callAgain() }
    }

    package func streamBecameReady(_ stream: ByteStream) {
        guard observer != nil else { return checkIdle() }
        isHandlingReadiness = true
        defer { isHandlingReadiness = false }
        if !isSentWhole { pump() }
        if observer != nil, !isPaused { receive() }
    }

    /// While idle a server may only close; anything else makes the connection useless.
    private func checkIdle() {
        guard isIdle else { return }
        switch stream.read(into: pool.loop.scratch) {
        case .wouldBlock: break
        default: pool.discard(self)
        }
    }

    private func receive() {
        var budget = Self.readBudget
        while let observer, !isPaused {
            guard budget > 0 else { return stream.callAgain() }
            let expected = parser.directBodyCapacity
            let read: StreamRead
            if expected >= Self.directReadMinimum, let buffer = observer.exchangeBuffer(most: expected) {
                read = stream.read(into: buffer)
                if case .bytes(let count) = read {
                    budget -= count
                    let event = parser.tookDirectBody(count)
                    observer.exchangeFilled(count)
                    if let event, self.observer === observer { handle(event, leftOver: 0) }
                } else {
                    observer.exchangeFilled(0)
                }
            } else {
                let scratch = pool.loop.scratch
                read = stream.read(into: scratch)
                if case .bytes(let count) = read {
                    budget -= count
                    if !hasResponseStarted {
                        hasResponseStarted = true
                        observer.exchangeStartedResponse()
                    }
                    parse(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
                }
            }
            switch read {
            case .bytes: if !stream.mayHaveMore { return }
            case .wouldBlock: return
            case .end: return receivedEnd(isTruncated: false)
            case .truncated: return receivedEnd(isTruncated: true)
            case .failed(let failure): return fail(reading: failure)
            }
        }
    }

    private func parse(_ bytes: UnsafeRawBufferPointer) {
        var input = bytes
        let exchange = observer
        do {
            while observer === exchange, let event = try parser.next(&input) {
                handle(event, leftOver: input.count)
            }
        } catch {
            fail(.cannotParseResponse(String(describing: error)))
        }
    }

    private func receivedEnd(isTruncated: Bool) {
        let event: HTTP1ResponseEvent?
        do { event = try parser.inputEnded() } catch {
            return fail(error.isEarlyEnd ? .networkConnectionLost(nil) : .cannotParseResponse(String(describing: error)))
        }
        // Without an announced length only TLS's own goodbye tells a whole body from one that was cut (RFC 9112 §9.8).
        if let event, !isTruncated { handle(event, leftOver: 0) } else { fail(.networkConnectionLost(nil)) }
    }

    private func handle(_ event: HTTP1ResponseEvent, leftOver: Int) {
        guard let observer else { return }
        switch event {
        case .informational(let head):
            if head.status == 100 { stopHolding() }
            observer.exchangeReceived(informational: head)
        case .head(let head, let body):
            if let text = head.fields.firstValue("Keep-Alive") { noteKeepAlive(text) }
            observer.exchangeReceived(head: head, body: body)
        case .body(let bytes):
            observer.exchangeReceived(body: bytes)
        case .end(let end):
            finish(mayReuse: end.mayReuse && isSentWhole && leftOver == 0)
        }
    }

    private func noteKeepAlive(_ text: String) {
        guard let range = text.utf8.split(separator: UInt8(ascii: ",")).first(where: { part in
            part.split(separator: UInt8(ascii: "=")).first.map { String($0) ?? "" }?
                .trimmingPrefix(" ").lowercased() == "timeout"
        }), let seconds = range.split(separator: UInt8(ascii: "=")).last.flatMap({ Int64(String($0) ?? "") }),
            seconds >= 0, seconds < 1_000_000
        else { return }
        announcedIdleLifetime = max(0, seconds - 1) * 1_000_000_000
    }

    // MARK: Ending

    private func finish(mayReuse: Bool) {
        guard let observer else { return }
        self.observer = nil
        endSending()
        observer.exchangeEnded()
        if mayReuse { pool.release(self) } else { pool.discard(self) }
    }

    private func fail(reading failure: StreamFailure) {
        fail(LoadError(failure, isEstablished: true))
    }

    /// A server that answered and closed while we were still sending makes the write fail; its answer counts, so it is
    /// read first if there is one.
    private func fail(writing failure: StreamFailure) {
        unsent = []
        unsentStart = 0
        endSending()
        if stream.mayHaveMore, !isPaused { receive() }
        if observer != nil, !hasResponseStarted { fail(LoadError(failure, isEstablished: true)) }
    }

    private func fail(_ error: LoadError) {
        guard let observer else { return }
        self.observer = nil
        endSending()
        let failure = ExchangeFailure(
            error: error, wasAnythingSent: wasAnythingSent, wasAnythingReceived: hasResponseStarted)
        pool.discard(self)
        observer.exchangeFailed(failure)
    }

    private func endSending() {
        switch sending {
        case .source(let source), .awaiting(let source), .holding(.source(let source, _)): source.cancel()
        case .nothing, .bytes, .holding: break
        }
        sending = .nothing
        if let continueTimer { pool.loop.disarm(continueTimer) }
    }

    /// Gives the exchange up: the observer hears nothing more, and the connection, in an unknown state, is closed.
    package func cancel() {
        guard observer != nil else { return }
        observer = nil
        endSending()
        pool.discard(self)
    }

    func close() {
        observer = nil
        endSending()
        stream.close()
    }
}
