internal import FoundationEssentials
internal import Glibc
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

extension BodySinkOwner {
    /// Only HTTP has bodies in parts.
    var wantedParts: WantedParts { .none }
    func bodySink(begins part: LoadResponse) -> ClientAnswer<Void> { .now }
}

/// The owner of a body sink: the load.
protocol BodySinkOwner: AnyObject {
    /// Whether bytes may be delivered to the client now: the load is not suspended, has not ended, and awaits no
    /// answer.
    var mayDeliverBody: Bool { get }
    /// The sink accepts more from the network, or nothing for now.
    func applyFlow()
    /// The client accepts more again.
    func resumeReading()
    /// A piece of the body for the client. False if the client accepts no more for now.
    func bodySink(delivers data: Data) -> Bool
    /// The number of bytes collected so far, for a body that is delivered at the end.
    func bodySinkHasCollected(_ total: Int64)
    /// The number of bytes just written to the file.
    func bodySinkHasWritten(_ count: Int64)
    /// The parts that the client takes.
    var wantedParts: WantedParts { get }
    func bodySink(begins part: LoadResponse) -> ClientAnswer<Void>
    /// The body cannot be delivered.
    func cancel(_ error: LoadError)
    func bodySinkClosedFile(_ outcome: Result<String, FileWriter.Failure>)
}

/// Delivers the body of a response: decodes content codings, splits parts, and passes the result to the client in
/// pieces, to one piece of memory, or to a file. Confined to the loop.
///
/// **Flow.** Bytes are delivered only while the owner permits it and the client accepts more. Other bytes that
/// arrive are kept in the backlog, still encoded: one buffer, or on a multiplexed connection as much as the stream's
/// window allows.
///
/// The owner may call back, so no access to a stored property lasts while the owner is called. Exclusive access is not
/// checked.
final class BodySink: LoopTimerTarget {
    private let loop: EventLoop
    /// Set from the start of the load to its end; clearing it breaks the reference cycle.
    @exclusivity(unchecked) var owner: (any BodySinkOwner)?
    @exclusivity(unchecked) var destination: BodyDestination
    /// The client accepts no more for now.
    @exclusivity(unchecked) private(set) var isFull = false
    /// Bytes that arrived while the flow was stopped, still encoded.
    @exclusivity(unchecked) private var backlog = BodyCollector()
    @exclusivity(unchecked) var decoding = DecodingStage()
    /// Set while the body is multipart.
    @exclusivity(unchecked) var parts: MultipartStage?
    /// Set while the body is multipart, delivered as received, and ends with the connection: looks for the last
    /// delimiter.
    @exclusivity(unchecked) var followedParts: MultipartStage?
    @exclusivity(unchecked) private var collector: BodyCollector?
    /// Set when there is a body to write.
    @exclusivity(unchecked) private(set) var writer: FileWriter?
    /// Set while the end of a failed load waits for its file.
    @exclusivity(unchecked) private var closingTimer: LoopTimer?
    @exclusivity(unchecked) private var buffer: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private(set) var deliveredBytes: Int64 = 0

    /// A piece of at least so many bytes is delivered in the read buffer itself, without a copy. A smaller piece is
    /// copied, because it would occupy a whole buffer.
    private static let handedOutMinimum = 16 * 1024
    /// The number of parts of a body after which other loads have their turn.
    private static let partsPerTurn = 64

    init(_ destination: BodyDestination, on loop: EventLoop) {
        self.destination = destination
        self.loop = loop
    }

    deinit {
        if let buffer { ReadBuffers.release(buffer) }
    }

    // MARK: Flow

    var isFlowing: Bool { !isFull && owner?.mayDeliverBody == true }

    /// Whether all bytes received so far are delivered.
    var isDelivered: Bool { backlog.count == 0 && !decoding.mayHoldOutput && parts?.hasBacklog != true }

    var backlogCount: Int { backlog.count }

    /// The first bytes of the backlog, which remain in it.
    func startOfBacklog(most: Int) -> [UInt8] { backlog.start(most: most) }

    /// Drops the state of the previous response.
    func beginResponse() {
        parts = nil
        followedParts = nil
        backlog = BodyCollector()
    }

    /// Drops the bytes that are not delivered.
    func dropBacklog() { backlog = BodyCollector() }

    func takeBacklog() -> Data { backlog.take() }

    /// The body is delivered again, from its beginning.
    func restart(_ destination: BodyDestination) {
        self.destination = destination
        (isFull, deliveredBytes) = (false, 0)
    }

    /// False if the client had not stopped the flow.
    func resumeReading() -> Bool {
        defer { isFull = false }
        return isFull
    }

    private func becomeFull() {
        isFull = true
        owner?.applyFlow()
    }

    /// Continues with the backlog in a later turn. Until then the flow is stopped, as if the client accepted no more.
    private func yieldTurn() {
        becomeFull()
        loop.runLater { self.owner?.resumeReading() }
    }

    private func fail(_ error: LoadError) { owner?.cancel(error) }

    // MARK: Input

    /// Whether the bytes are not delivered as they arrive.
    private var isProcessed: Bool { decoding.isActive || parts != nil || followedParts != nil }

    /// Bytes of the body as received, still encoded.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        guard isFlowing, backlog.count == 0 else { return appendToBacklog(bytes) }
        var input = bytes
        process(&input)
        if !input.isEmpty { appendToBacklog(input) }
    }

    /// Delivers the backlog as far as the client accepts it.
    func deliverBacklog() {
        guard isFlowing, !isDelivered else { return }
        let put = backlog.take()
        if !put.isEmpty, !isProcessed, collector == nil { return deliver(put) }
        put.withUnsafeBytes { bytes in
            var input = bytes
            process(&input)
            if !input.isEmpty { appendToBacklog(input) }
        }
    }

    private func appendToBacklog(_ bytes: UnsafeRawBufferPointer) {
        if !backlog.append(bytes) { fail(.outOfMemory) }
    }

    /// Memory for the next bytes of the body; `filled` reports them. Nil if they must come by `receive`.
    func room(most: Int) -> UnsafeMutableRawBufferPointer? {
        guard isFlowing, backlog.count == 0, !isProcessed else { return nil }
        if collector != nil { return collector?.room(most) }
        guard let buffer = takeBuffer() else { return nil }
        return UnsafeMutableRawBufferPointer(start: buffer, count: min(most, ReadBuffers.size))
    }

    func filled(_ count: Int) {
        if collector != nil {
            collector?.filled(count)
            collected(count)
        } else if isFlowing {
            deliverBuffer(count)
        } else if let buffer {
            appendToBacklog(UnsafeRawBufferPointer(start: buffer, count: count))
        }
    }

    /// The write end of a pipe to the file; `filledPipe` reports the bytes written. Nil if the bytes must come by
    /// `receive`.
    var pipe: Int32? {
        guard isFlowing, backlog.count == 0, !isProcessed, let writer else { return nil }
        return writer.spliceEnd
    }

    func filledPipe(_ count: Int) {
        deliveredBytes += Int64(count)
        writer?.didSplice(count)
        becomeFull()
    }

    /// Delivers from the front of `input`; leaves the rest when the client accepts no more.
    private func process(_ input: inout UnsafeRawBufferPointer) {
        if parts != nil { return processParts(&input) }
        guard decoding.isActive else {
            follow(input)
            deliver(input)
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        decode(&input) { buffer, count in
            follow(UnsafeRawBufferPointer(start: buffer, count: count))
            if collector != nil {
                deliver(UnsafeRawBufferPointer(start: buffer, count: count))
            } else {
                deliverBuffer(count)
            }
        }
    }

    /// Decodes from the front of `input`, one buffer at a time, while the client accepts more.
    private func decode(
        _ input: inout UnsafeRawBufferPointer, deliver: (_ buffer: UnsafeMutableRawPointer, _ count: Int) -> Void
    ) {
        var decodedCount = 0
        while isFlowing {
            if decodedCount >= ContentCodingLimits.decodedBytesPerTurn { return yieldTurn() }
            guard let buffer = takeBuffer() else { return fail(.outOfMemory) }
            do {
                let count = try decoding.decode(
                    &input, into: UnsafeMutableRawBufferPointer(start: buffer, count: ReadBuffers.size))
                if count == 0 { return decoding.isInterrupted ? yieldTurn() : () }
                decodedCount += count
                deliver(buffer, count)
            } catch {
                input = UnsafeRawBufferPointer(start: nil, count: 0)
                return fail(error)
            }
        }
    }

    private func takeBuffer() -> UnsafeMutableRawPointer? {
        let buffer = buffer ?? ReadBuffers.take()
        self.buffer = buffer
        return buffer
    }

    /// Called when the body is complete. Throws if its coding is not.
    func finishDecoding() throws(LoadError) { try decoding.finish() }

    // MARK: Output

    func deliver(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        if collector != nil {
            guard collector?.append(bytes) == true else { return fail(.outOfMemory) }
            collected(bytes.count)
        } else if bytes.count >= Self.handedOutMinimum, bytes.count <= ReadBuffers.size, let buffer = takeBuffer() {
            buffer.copyMemory(from: start, byteCount: bytes.count)
            deliverBuffer(bytes.count)
        } else {
            deliver(Data(bytes: start, count: bytes.count))
        }
    }

    /// Delivers a piece that has its own memory.
    func deliver(_ data: Data) {
        if collector != nil { return data.withUnsafeBytes { deliver($0) } }
        deliveredBytes += Int64(data.count)
        if !(writer?.write(data) ?? owner?.bodySink(delivers: data) ?? true) { becomeFull() }
    }

    private func collected(_ count: Int) {
        deliveredBytes += Int64(count)
        owner?.bodySinkHasCollected(deliveredBytes)
    }

    /// Delivers the first `count` bytes of `buffer`. A large piece is delivered in the buffer itself. A small piece is
    /// copied, and the buffer is used again.
    private func deliverBuffer(_ count: Int) {
        guard let buffer else { return }
        guard count >= Self.handedOutMinimum else { return deliver(Data(bytes: buffer, count: count)) }
        self.buffer = nil
        deliver(
            Data(bytesNoCopy: buffer, count: count, deallocator: .custom({ memory, _ in ReadBuffers.release(memory) }))
        )
    }

    /// The collected body; nil if the body is not collected.
    func takeCollected() -> Data? {
        defer { collector = nil }
        return collector?.take()
    }

    // MARK: Parts

    /// Equivalent to `process`, for a multipart body.
    private func processParts(_ input: inout UnsafeRawBufferPointer) {
        if let parts, parts.hasBacklog {
            parts.takeBacklog { parse(&$0) }
            if parts.hasBacklog { return }
        }
        guard decoding.isActive else {
            parse(input)
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        decode(&input) { buffer, count in
            // The buffer must not be delivered with one part while the next part is read from it.
            self.buffer = nil
            parse(UnsafeRawBufferPointer(start: buffer, count: count))
            if self.buffer == nil { self.buffer = buffer } else { ReadBuffers.release(buffer) }
        }
    }

    /// Reports the events in `bytes`; keeps what the client does not accept yet.
    private func parse(_ bytes: UnsafeRawBufferPointer) {
        var input = bytes
        parse(&input)
        if !input.isEmpty { parts?.keep(input) }
    }

    private func parse(_ input: inout UnsafeRawBufferPointer) {
        var partCount = 0
        do {
            while isFlowing, let event = try parts?.next(&input) {
                if case .partHead = event { partCount += 1 }
                deliver(event)
                // A part may have five bytes, and costs a response.
                if partCount == Self.partsPerTurn, isFlowing { yieldTurn() }
            }
        } catch {
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            fail(error)
        }
    }

    private func deliver(_ event: MultipartEvent) {
        switch event {
        case .partHead(let fields): beginPart(fields)
        case .body(let bytes): deliver(bytes)
        case .partEnd, .end: break
        }
    }

    private func follow(_ bytes: UnsafeRawBufferPointer) {
        if followedParts?.follow(bytes) == false { followedParts = nil }
    }

    private func beginPart(_ fields: HTTPFields) {
        // In a file the parts follow one another.
        guard let response = parts?.response(toPart: fields), let owner, writer == nil else { return }
        // A client that takes every part in one piece receives the previous part now.
        if let before = takeCollected(), !before.isEmpty, owner.wantedParts == .every {
            _ = owner.bodySink(delivers: before)
        }
        if case .now = owner.bodySink(begins: response) { open() }
    }

    /// How a body that was expected to have parts ended.
    enum PartsEnd {
        /// There were parts, or the body was not split.
        case delivered
        /// There were none: the response is an ordinary one without a body.
        case none
    }

    /// The body has ended.
    ///
    /// A multipart body ends with the last delimiter (RFC 2046 §5.1.1). If only the end of the connection ends the
    /// body, a body without that delimiter is truncated. Chunked coding and Content-Length show by themselves that a
    /// body is complete. The delimiter is then optional, because many cameras omit it.
    func finishParts(endsWithConnection: Bool) throws(LoadError) -> PartsEnd {
        if try followedParts?.isCutOff() == true { throw .networkConnectionLost }
        guard parts != nil else { return .delivered }
        var isClosed = true
        while let event = try parts?.inputEnded() {
            if case .end(false) = event { isClosed = false }
            deliver(event)
        }
        let hadParts = parts.map { $0.partCount > 0 } ?? true
        if !isClosed, hadParts, endsWithConnection { throw .networkConnectionLost }
        parts = nil
        return hadParts ? .delivered : .none
    }
}

// MARK: - The destination

extension BodySink: FileWriterObserver {
    /// The client has accepted the response: the bytes that follow go to the destination.
    ///
    /// - Parameter expectedLength: In bytes; -1 if unknown.
    func open(expectedLength: Int64 = -1) {
        switch destination {
        case .pieces: break
        case .whole:
            collector = BodyCollector()
            collector?.expect(expectedLength)
        // Another part goes to the same file.
        case .file where writer != nil, .stopped where writer != nil: break
        case .file(let place): open(place)
        case .stopped(let download):
            open(.replacement(inFolder: BodyDestination.folder(of: download.path), of: download.path))
        }
    }

    func open(_ place: FileWriter.Destination) {
        decoding.writesFile = true
        let writer = FileWriter(place, on: loop)
        writer.observer = self
        self.writer = writer
    }

    /// True if the body is complete; false if its file must be closed first, which begins now.
    func closeFile() -> Bool {
        guard let writer else { return true }
        writer.close()
        return false
    }

    /// The load has failed. Its file is closed, so that another download can resume from it. If the disk does not
    /// respond (`TimeLimits.fileClosing`), the load does not wait for it.
    ///
    /// - Parameter isClosing: Whether `closeFile` was called.
    func giveUpFile(isClosing: Bool = false) {
        guard let writer else { return }
        writer.giveUp()
        if !isClosing { writer.close() }
        let timer = LoopTimer()
        closingTimer = timer
        loop.arm(timer, at: loop.now + loop.limits.fileClosing, for: self)
    }

    func timerFired(_ timer: LoopTimer) {
        closingTimer = nil
        writer?.abandon()
        writer = nil
        owner?.bodySinkClosedFile(.failure(.closing(POSIXFailure(ETIMEDOUT))))
    }

    func discardFile() {
        stopClosingTimer()
        writer?.discard()
        writer = nil
    }

    private func stopClosingTimer() {
        if let closingTimer { loop.disarm(closingTimer) }
        closingTimer = nil
    }

    func fileWriterWrote(_ count: Int64, hasRoom: Bool) {
        owner?.bodySinkHasWritten(count)
        if hasRoom { owner?.resumeReading() }
    }

    func fileWriterClosed(_ outcome: Result<String, FileWriter.Failure>) {
        stopClosingTimer()
        // The writer may still report writes that were started before.
        writer?.observer = nil
        writer = nil
        owner?.bodySinkClosedFile(outcome)
    }
}

extension LoadError {
    init(_ failure: FileWriter.Failure) {
        self =
            switch failure {
            case .creating(let failure): .cannotCreateFile(failure.code)
            case .opening(let failure): .cannotOpenFile(failure.code)
            case .writing(let failure): .cannotWriteToFile(failure.code)
            case .closing(let failure): .cannotCloseFile(failure.code)
            }
    }
}
