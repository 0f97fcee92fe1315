internal import FoundationEssentials
internal import LoadingEvents
internal import LoadingSemantics
internal import LoadingTransport

/// The way of the body to the client, and its flow.
extension Load {
    /// What may be decoded in one turn of the loop, in bytes. Who gathers a body never has enough, and a few kilobytes may
    /// unfold to gigabytes: everybody else has their turn in between, and so have timers and `cancel`.
    static let mostDecodedInATurn = 1 << 20

    var isFlowing: Bool {
        guard !isSuspended, !isFull, case .nothing = outstanding else { return false }
        return true
    }

    func applyFlow() { exchange?.setPaused(!isFlowing) }

    /// Delivers what was put by and goes on reading, as far as the client wants.
    func flow() {
        guard !hasEnded else { return }
        if cache.served != nil { return deliverServed() }
        if isFlowing, !isDelivered {
            let put = backlog.take()
            if !put.isEmpty, !decoding.isActive, parts == nil, collector == nil {
                deliver(put)
            } else {
                put.withUnsafeBytes { bytes in
                    var input = bytes
                    process(&input)
                    if !input.isEmpty { putBy(input) }
                }
            }
        }
        applyFlow()
        if isFlowing, isDelivered, let bodyEnd { complete(bodyEnd) }
    }

    /// Keeps what the client has no room for.
    func putBy(_ bytes: UnsafeRawBufferPointer) {
        if !backlog.append(bytes) { end(.outOfMemory) }
    }

    /// Whether the client has all that has been read so far.
    var isDelivered: Bool { backlog.count == 0 && !decoding.mayHoldOutput && parts?.backlog.isEmpty ?? true }

    func finishBody(_ outcome: BodyEnd) {
        exchange = nil
        bodyEnd = outcome
        if isFlowing, isDelivered { complete(outcome) }
    }

    func complete(_ outcome: BodyEnd) {
        if hasEnded || isClosingFile || isKeeping { return }
        switch outcome {
        case .failed(let error): end(error)
        case .complete:
            do {
                try decoding.finish()
                if try !finishParts() { return }
            } catch { return end(error) }
            if let writer {
                isClosingFile = true
                return writer.close()
            }
            record(.responseEnded(bytes: wireBytes, decoded: deliveredBytes))
            whole = collector?.take()
            collector = nil
            isKeeping = true
            if !proposesKeeping(whole) { finishKeeping() }
        }
    }

    /// Delivers from the front of `input`; stops, leaving the rest, when the client has enough.
    func process(_ input: inout UnsafeRawBufferPointer) {
        if parts != nil { return processParts(&input) }
        guard decoding.isActive else {
            deliver(input)
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        var decodedCount = 0
        while isFlowing, !hasEnded {
            if decodedCount >= Self.mostDecodedInATurn { return giveWay() }
            guard let buffer = buffer ?? ReadBuffers.take() else { return end(.outOfMemory) }
            self.buffer = buffer
            do {
                let count = try decoding.decode(
                    &input, into: UnsafeMutableRawBufferPointer(start: buffer, count: ReadBuffers.size))
                if count == 0 { return decoding.isInterrupted ? giveWay() : () }
                decodedCount += count
                if collector != nil {
                    deliver(UnsafeRawBufferPointer(start: buffer, count: count))
                } else {
                    deliverBuffer(count)
                }
            } catch {
                input = UnsafeRawBufferPointer(start: nil, count: 0)
                return end(error)
            }
        }
    }

    /// Goes on with what was put by in a later turn, as if the client had enough until then.
    func giveWay() {
        isFull = true
        applyFlow()
        let goOn = LoopBox({ [self] in resumeReading() })
        environment.loop.post { goOn.value() }
    }

    /// A piece of so many bytes is handed out in the buffer that it is in; memory of its own would be new to the process
    /// each time. What is smaller would hold a buffer for little.
    private static let handedOutMinimum = 16 * 1024

    func deliver(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        if collector != nil {
            guard collector?.append(bytes) == true else { return end(.outOfMemory) }
            collected(bytes.count)
        } else if bytes.count >= Self.handedOutMinimum, bytes.count <= ReadBuffers.size,
            let buffer = buffer ?? ReadBuffers.take()
        {
            self.buffer = buffer
            buffer.copyMemory(from: start, byteCount: bytes.count)
            deliverBuffer(bytes.count)
        } else {
            deliver(Data(bytes: start, count: bytes.count))
        }
    }

    func collected(_ count: Int) {
        deliveredBytes += Int64(count)
        client?.load(self, hasCollected: deliveredBytes)
    }

    /// Delivers the first `count` bytes of `buffer`: a full one goes to the client as it is, a small piece is copied
    /// and the buffer used again.
    func deliverBuffer(_ count: Int) {
        guard let buffer else { return }
        guard count >= Self.handedOutMinimum else { return deliver(Data(bytes: buffer, count: count)) }
        self.buffer = nil
        deliver(
            Data(bytesNoCopy: buffer, count: count, deallocator: .custom({ memory, _ in ReadBuffers.giveBack(memory) }))
        )
    }

    func deliver(_ data: Data) {
        guard let client else { return }
        deliveredBytes += Int64(data.count)
        if cache.isGathering, !cache.gather(data) { stopGathering() }
        if !(writer?.write(data) ?? client.load(self, didReceive: data)) {
            isFull = true
            applyFlow()
        }
    }
}
