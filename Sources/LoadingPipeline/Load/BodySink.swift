internal import FoundationEssentials
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

extension BodySinkOwner {
    /// Nothing but HTTP has bodies in parts.
    var wantedParts: WantedParts { .none }
    func bodySink(begins part: LoadResponse) -> LoadAnswer { .now }
}

/// What a body sink asks of the load it belongs to, and tells it.
protocol BodySinkOwner: AnyObject {
    /// Whether bytes may go to the client now: the load is not suspended, has not ended, and awaits no answer.
    var letsBodyThrough: Bool { get }
    /// The sink wants more of the network from now on, or nothing for now.
    func bodySinkChangedFlow()
    /// The client may have more after it had enough.
    func bodySinkHasRoom()
    /// A piece of the body for the client. False when the client has enough for now.
    func bodySink(delivers data: Data) -> Bool
    /// So many bytes are in memory of a body that is given at the end.
    func bodySinkHasCollected(_ total: Int64)
    /// So many more bytes are in the file.
    func bodySinkHasWritten(_ count: Int64)
    /// What kinds of parts the client wants, and a part that begins.
    var wantedParts: WantedParts { get }
    func bodySink(begins part: LoadResponse) -> LoadAnswer
    /// The body cannot be delivered.
    func bodySinkFailed(_ error: LoadError)
    /// The file is closed.
    func bodySinkClosedFile(_ outcome: Result<String, FileWriter.Failure>)
}

/// The way of a response's body to the client: content codings are undone, parts are told apart, and what is left goes to
/// the client in pieces, to one piece of memory, or to a file. Confined to the loop.
///
/// **Flow.** Bytes go on only while the owner lets them through and the client wants them. What comes all the same is
/// put by in the backlog, still coded: one buffer, or on a shared connection as much as the window of the stream allows.
///
/// No access to what is stored here lasts while the owner is called, who may come back.
final class BodySink {
    let loop: EventLoop
    /// From the start of the load to its end, which also breaks the cycle between the two.
    @exclusivity(unchecked) var owner: (any BodySinkOwner)?
    @exclusivity(unchecked) var destination: BodyDestination
    /// The client has enough for now.
    @exclusivity(unchecked) private(set) var isFull = false
    /// Bytes that were read before the flow stopped, still coded.
    @exclusivity(unchecked) private var backlog = BodyCollector()
    @exclusivity(unchecked) var decoding = DecodingStage()
    /// While the body comes in parts.
    @exclusivity(unchecked) var parts: MultipartStage?
    @exclusivity(unchecked) private var collector: BodyCollector?
    /// From the moment that there is a body to write.
    @exclusivity(unchecked) var writer: FileWriter?
    @exclusivity(unchecked) var isClosingFile = false
    @exclusivity(unchecked) private var buffer: UnsafeMutableRawPointer?
    @exclusivity(unchecked) private(set) var deliveredBytes: Int64 = 0

    /// What may be decoded in one turn of the loop, in bytes. Who gathers a body never has enough, and a few kilobytes may
    /// unfold to gigabytes: everybody else has their turn in between, and so have timers and `cancel`.
    private static let mostDecodedInATurn = 1 << 20

    /// A piece of so many bytes is handed out in the buffer that it is in; memory of its own would be new to the process
    /// each time. What is smaller would hold a buffer for little.
    private static let handedOutMinimum = 16 * 1024

    init(_ destination: BodyDestination, on loop: EventLoop) {
        self.destination = destination
        self.loop = loop
    }

    deinit {
        if let buffer { ReadBuffers.giveBack(buffer) }
    }

    // MARK: Flow

    var isFlowing: Bool { !isFull && owner?.letsBodyThrough == true }

    /// Whether the client has all that has come so far.
    var isDelivered: Bool { backlog.count == 0 && !decoding.mayHoldOutput && parts?.backlog.isEmpty ?? true }

    var backlogCount: Int { backlog.count }

    /// The first bytes of the backlog, which stay there.
    func startOfBacklog(most: Int) -> [UInt8] { backlog.start(most: most) }

    /// Forgets what another response has left.
    func beginResponse() {
        parts = nil
        backlog = BodyCollector()
    }

    /// Forgets all that is not delivered.
    func dropBacklog() { backlog = BodyCollector() }

    func takeBacklog() -> Data { backlog.take() }

    /// Forgets what was delivered, which is delivered once more.
    func beginAnew(_ destination: BodyDestination) {
        self.destination = destination
        (isClosingFile, isFull, deliveredBytes) = (false, false, 0)
    }

    /// False if the client had not said that it had enough.
    func resumeReading() -> Bool {
        defer { isFull = false }
        return isFull
    }

    private func becomeFull() {
        isFull = true
        owner?.bodySinkChangedFlow()
    }

    /// Goes on with what was put by in a later turn, as if the client had enough until then.
    private func giveWay() {
        becomeFull()
        let goOn = LoopBox({ [self] in owner?.bodySinkHasRoom() ?? () })
        loop.post { goOn.value() }
    }

    private func fail(_ error: LoadError) { owner?.bodySinkFailed(error) }

    // MARK: What comes

    /// Bytes of the body as they come, still coded.
    func receive(_ bytes: UnsafeRawBufferPointer) {
        guard isFlowing, backlog.count == 0 else { return putBy(bytes) }
        var input = bytes
        process(&input)
        if !input.isEmpty { putBy(input) }
    }

    /// Delivers what was put by, as far as the client wants.
    func deliverBacklog() {
        guard isFlowing, !isDelivered else { return }
        let put = backlog.take()
        if !put.isEmpty, !decoding.isActive, parts == nil, collector == nil { return deliver(put) }
        put.withUnsafeBytes { bytes in
            var input = bytes
            process(&input)
            if !input.isEmpty { putBy(input) }
        }
    }

    private func putBy(_ bytes: UnsafeRawBufferPointer) {
        if !backlog.append(bytes) { fail(.outOfMemory) }
    }

    /// Memory to read the next bytes of the body into, which are told by `filled`; nil if they have to come by `receive`.
    func room(most: Int) -> UnsafeMutableRawBufferPointer? {
        guard isFlowing, backlog.count == 0, !decoding.isActive, parts == nil else { return nil }
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
            putBy(UnsafeRawBufferPointer(start: buffer, count: count))
        }
    }

    /// The end of a pipe that leads to the file, which is told by `filledPipe`; nil if the bytes have to come otherwise.
    var pipe: Int32? {
        guard isFlowing, backlog.count == 0, !decoding.isActive, parts == nil, let writer else { return nil }
        return writer.entrance
    }

    func filledPipe(_ count: Int) {
        deliveredBytes += Int64(count)
        writer?.filledEntrance(count)
        becomeFull()
    }

    /// Delivers from the front of `input`; stops, leaving the rest, when the client has enough.
    private func process(_ input: inout UnsafeRawBufferPointer) {
        if parts != nil { return processParts(&input) }
        guard decoding.isActive else {
            deliver(input)
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        decode(&input) { buffer, count in
            if collector != nil {
                deliver(UnsafeRawBufferPointer(start: buffer, count: count))
            } else {
                deliverBuffer(count)
            }
        }
    }

    /// Decodes from the front of `input` a buffer at a time, as long as the client wants more.
    private func decode(
        _ input: inout UnsafeRawBufferPointer, deliver: (_ buffer: UnsafeMutableRawPointer, _ count: Int) -> Void
    ) {
        var decodedCount = 0
        while isFlowing {
            if decodedCount >= Self.mostDecodedInATurn { return giveWay() }
            guard let buffer = takeBuffer() else { return fail(.outOfMemory) }
            do {
                let count = try decoding.decode(
                    &input, into: UnsafeMutableRawBufferPointer(start: buffer, count: ReadBuffers.size))
                if count == 0 { return decoding.isInterrupted ? giveWay() : () }
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

    /// The body is complete. Throws if its coding is not.
    func finishDecoding() throws(LoadError) { try decoding.finish() }

    // MARK: What goes on

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

    /// A piece that is in memory of its own.
    func deliver(_ data: Data) {
        if collector != nil { return data.withUnsafeBytes { deliver($0) } }
        deliveredBytes += Int64(data.count)
        if !(writer?.write(data) ?? owner?.bodySink(delivers: data) ?? true) { becomeFull() }
    }

    private func collected(_ count: Int) {
        deliveredBytes += Int64(count)
        owner?.bodySinkHasCollected(deliveredBytes)
    }

    /// Delivers the first `count` bytes of `buffer`: a full one goes to the client as it is, a small piece is copied
    /// and the buffer used again.
    private func deliverBuffer(_ count: Int) {
        guard let buffer else { return }
        guard count >= Self.handedOutMinimum else { return deliver(Data(bytes: buffer, count: count)) }
        self.buffer = nil
        deliver(
            Data(bytesNoCopy: buffer, count: count, deallocator: .custom({ memory, _ in ReadBuffers.giveBack(memory) }))
        )
    }

    /// What was collected of the body; nil if it is not collected.
    func takeCollected() -> Data? {
        defer { collector = nil }
        return collector?.take()
    }

    // MARK: Parts

    /// As `process`, for a body in parts.
    private func processParts(_ input: inout UnsafeRawBufferPointer) {
        if let put = parts?.backlog, !put.isEmpty {
            parts?.backlog = []
            put.withUnsafeBytes { parse($0) }
            if parts?.backlog.isEmpty == false { return }
        }
        guard decoding.isActive else {
            parse(input)
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        decode(&input) { buffer, count in
            // Not to be handed out with one part while the next is read from it.
            self.buffer = nil
            parse(UnsafeRawBufferPointer(start: buffer, count: count))
            if self.buffer == nil { self.buffer = buffer } else { ReadBuffers.giveBack(buffer) }
        }
    }

    /// Tells what is in `bytes`; what the client does not want yet is put by.
    private func parse(_ bytes: UnsafeRawBufferPointer) {
        var input = bytes
        do {
            while isFlowing, let event = try parts?.next(&input) { tell(event) }
        } catch { return fail(error) }
        if !input.isEmpty { parts?.backlog = Array(input) }
    }

    private func tell(_ event: MultipartEvent) {
        switch event {
        case .partHead(let fields): beginPart(fields)
        case .body(let bytes): deliver(bytes)
        case .partEnd, .end: break
        }
    }

    private func beginPart(_ fields: HTTPFields) {
        // To a file they go one after the other.
        guard let response = parts?.response(toPart: fields), let owner, writer == nil else { return }
        // Who wants every part, but in one piece, has the one before now.
        if let before = takeCollected(), !before.isEmpty, owner.wantedParts == .every {
            _ = owner.bodySink(delivers: before)
        }
        if case .now = owner.bodySink(begins: response) { open() }
    }

    /// How a body that was to have parts ended.
    enum PartsEnd {
        /// There were parts, or they were not looked for.
        case told
        /// There was none: the response is one like any other, without a body.
        case none
    }

    /// The body has ended.
    ///
    /// A series of parts ends with the last delimiter (RFC 2046 §5.1.1). Where the connection's end alone ends the body, one
    /// that lacks it has been cut. Chunks and lengths tell by themselves that a body is whole, and many cameras leave the
    /// delimiter out.
    func finishParts(endsWithConnection: Bool) throws(LoadError) -> PartsEnd {
        guard parts != nil else { return .told }
        var isClosed = true
        while let event = try parts?.inputEnded() {
            if case .end(false) = event { isClosed = false }
            tell(event)
        }
        let hadParts = parts.map { $0.partCount > 0 } ?? true
        if !isClosed, hadParts, endsWithConnection { throw .networkConnectionLost }
        parts = nil
        return hadParts ? .told : .none
    }
}

// MARK: - The destination

extension BodySink: FileWriterObserver {
    /// The client has let the response through: what follows goes to the destination.
    ///
    /// - Parameter expectedLength: In bytes; -1 if nobody knows.
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

    func open(_ place: FileWriter.Place) {
        decoding.writesFile = true
        let writer = FileWriter(place, on: loop)
        writer.observer = self
        self.writer = writer
    }

    /// Whether the body is complete without more ado; if not, its file is being closed.
    func closeFile() -> Bool {
        guard let writer else { return true }
        isClosingFile = true
        writer.close()
        return false
    }

    /// The load has failed. Its file is closed all the same: what has come may be gone on with later.
    func giveUpFile() {
        writer?.giveUp()
        if !isClosingFile { writer?.close() }
    }

    func discardFile() {
        writer?.discard()
        writer = nil
    }

    func fileWriterWrote(_ count: Int64, hasRoom: Bool) {
        owner?.bodySinkHasWritten(count)
        if hasRoom { owner?.bodySinkHasRoom() }
    }

    func fileWriterClosed(_ outcome: Result<String, FileWriter.Failure>) {
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
