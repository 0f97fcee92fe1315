internal import FoundationEssentials
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// A body that comes in parts, each of which the client is told as a response (MISC-23).
extension Load {
    /// Whether the response has parts, and the client wants to know. The first of them tells the response then.
    func beginParts(of response: LoadResponse) -> Bool {
        guard !partsAreOver, let client, client.wantedParts != .none, let stage = MultipartStage(response) else {
            return false
        }
        parts = stage
        stopGathering()
        flow()
        return true
    }

    /// As `process`, for a body in parts.
    func processParts(_ input: inout UnsafeRawBufferPointer) {
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
        var decodedCount = 0
        while isFlowing, !hasEnded {
            if decodedCount >= Self.mostDecodedInATurn { return giveWay() }
            guard let buffer = buffer ?? ReadBuffers.take() else { return end(.outOfMemory) }
            // Not to be handed out with one part while the next is read from it.
            self.buffer = nil
            defer { takeBack(buffer) }
            let count: Int
            do {
                count = try decoding.decode(
                    &input, into: UnsafeMutableRawBufferPointer(start: buffer, count: ReadBuffers.size))
            } catch {
                input = UnsafeRawBufferPointer(start: nil, count: 0)
                return end(error)
            }
            if count == 0 { return decoding.isInterrupted ? giveWay() : () }
            decodedCount += count
            parse(UnsafeRawBufferPointer(start: buffer, count: count))
        }
    }

    private func takeBack(_ buffer: UnsafeMutableRawPointer) {
        if self.buffer == nil { self.buffer = buffer } else { ReadBuffers.giveBack(buffer) }
    }

    /// Tells what is in `bytes`; what the client does not want yet is put by.
    private func parse(_ bytes: UnsafeRawBufferPointer) {
        var input = bytes
        do {
            while isFlowing, !hasEnded, let event = try parts?.next(&input) { tell(event) }
        } catch { return end(error) }
        if !input.isEmpty, !hasEnded { parts?.backlog = Array(input) }
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
        guard let response = parts?.response(toPart: fields), let client, writer == nil else { return }
        // Who wants every part, but in one piece, has the one before now.
        if let before = collector?.take(), !before.isEmpty, client.wantedParts == .every {
            _ = client.load(self, didReceive: before)
        }
        if case .later = client.load(self, didReceive: response) {
            outstanding = .response
            applyFlow()
        } else {
            openDestination()
        }
    }

    /// The body has ended. False when the client has something to answer first.
    ///
    /// A series of parts ends with the last delimiter (RFC 2046 §5.1.1). Where the connection's end alone ends the body, one
    /// that lacks it has been cut. Chunks and lengths tell by themselves that a body is whole, and many cameras leave the
    /// delimiter out.
    func finishParts() throws(LoadError) -> Bool {
        guard parts != nil else { return true }
        var isClosed = true
        while let event = try parts?.inputEnded() {
            if case .end(false) = event { isClosed = false }
            tell(event)
        }
        if !isClosed, response?.endsWithConnection == true, parts.map({ $0.partCount > 0 }) == true {
            throw .networkConnectionLost
        }
        let hadParts = parts.map { $0.partCount > 0 } ?? true
        parts = nil
        partsAreOver = true
        if hadParts { return true }
        // There was none: the response is one like any other, without a body.
        outstanding = .response
        guard let response, let client, case .now = client.load(self, didReceive: response) else { return false }
        outstanding = .nothing
        openDestination()
        return true
    }
}
