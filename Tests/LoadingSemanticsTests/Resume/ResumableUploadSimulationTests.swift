import LoadingSemantics
import Testing

// RES-16, RES-17, RES-21: a server that keeps what it gets, and a network that loses requests and responses anywhere.
@Suite struct ResumableUploadSimulationTests {
    /// The server's state of one upload.
    private struct Server {
        let length: Int64
        let maximumAppendSize: Int64?
        var received: Int64 = 0
        var hasResource = false
        var isComplete = false
        /// A byte at a wrong offset, or a request that violates the protocol.
        var isCorrupted = false

        /// Accepts the first `count` bytes of a body.
        mutating func take(_ request: UploadRequest, _ count: Int64) {
            guard let body = request.body else { return }
            if request.purpose == .creation { received = 0 }
            if body.offset != received { isCorrupted = true }
            received += count
            let isWhole = count == body.length ?? (length - body.offset)
            let finishes = request.fields.firstValue("Upload-Complete") == "?1"
            if isWhole, finishes {
                isComplete = true
                if received != length { isCorrupted = true }
            }
        }
    }

    @Test(arguments: 0..<400 as Range<UInt64>)
    func everyByteArrivesOnce(seed: UInt64) {
        var random = Random(state: seed &* 0x9E37_79B9_7F4A_7C15 | 1)
        let length = Int64(random.next() % 3000)
        let limit = random.next() % 2 == 0 ? nil : Int64(100 + random.next() % 1000)
        var server = Server(length: length, maximumAppendSize: limit)
        let isStream = random.next() % 4 == 0
        var upload = ResumableUpload(
            method: "POST", url: "http://a.example/", fields: HTTPFields(), length: isStream ? nil : length)
        var request = upload.start()
        var step: UploadStep?
        var count = 0
        while count < 500 {
            count += 1
            let next = exchange(request, &upload, &server, &random)
            guard case .send(let following, _) = next else {
                step = next
                break
            }
            request = following
            // Sometimes resumed in another process.
            if random.next() % 16 == 0, let point = upload.resumePoint {
                upload = ResumableUpload(resuming: point, fields: point.fields, of: point.url)
                if isStream, random.next() % 2 == 0 { upload.bodyEnded(at: length) }
                request = upload.start()
            }
        }
        #expect(!server.isCorrupted)
        if step == .giveUp {
            // Lost before the server offered resumption. No other loss may end the upload.
            #expect(!server.hasResource)
        } else {
            #expect(step == .deliver)
            #expect(server.isComplete)
            #expect(server.received == length)
        }
    }

    /// One request, which ends at a random point.
    private func exchange(
        _ request: UploadRequest, _ upload: inout ResumableUpload, _ server: inout Server, _ random: inout Random
    ) -> UploadStep {
        let isLost = random.next() % 3 == 0
        if isLost, random.next() % 3 == 0 { return upload.interrupted() }
        let version = ("Upload-Draft-Interop-Version", "8")
        switch request.purpose {
        case .creation:
            server.hasResource = true
            var offer = HTTPFields([version, ("Location", "/u")])
            if let limit = server.maximumAppendSize { offer.append("Upload-Limit", "max-append-size=\(limit)") }
            if let step = upload.received104(offer, from: request.url) { return step }
        case .offsetRetrieval:
            if isLost { return upload.interrupted() }
            var state = HTTPFields([
                ("Upload-Offset", String(server.received)), ("Upload-Complete", server.isComplete ? "?1" : "?0"),
            ])
            if let limit = server.maximumAppendSize { state.append("Upload-Limit", "max-append-size=\(limit)") }
            return upload.received(status: 204, fields: state)
        case .append:
            let offset = request.fields.firstValue("Upload-Offset").flatMap(Int64.init)
            if server.isComplete { return upload.received(status: 400, fields: HTTPFields()) }
            if offset != server.received {
                let state = HTTPFields([("Upload-Offset", String(server.received))])
                return upload.received(status: 409, fields: state)
            }
            if let limit = server.maximumAppendSize, let length = request.body?.length, length > limit {
                server.isCorrupted = true
            }
        case .cancellation:
            break
        }
        let whole = min(request.body?.length ?? .max, server.length - (request.body?.offset ?? 0))
        let arrived = isLost && random.next() % 2 == 0 ? Int64(random.next() % UInt64(whole + 1)) : whole
        server.take(request, arrived)
        if request.body?.length ?? .max > whole { upload.bodyEnded(at: server.length) }
        if random.next() % 4 == 0 {
            let progress = HTTPFields([version, ("Upload-Offset", String(server.received))])
            if let step = upload.received104(progress, from: request.url) { return step }
        }
        if isLost { return upload.interrupted() }
        let state = HTTPFields([("Upload-Complete", server.isComplete ? "?1" : "?0")])
        return upload.received(status: server.isComplete ? 200 : 204, fields: state)
    }
}

/// Marsaglia's xorshift: the same numbers for the same seed.
private struct Random {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
