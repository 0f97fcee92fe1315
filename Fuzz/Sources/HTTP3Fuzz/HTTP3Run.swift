import LoadingProtocols
import LoadingSemantics

/// One way for a session to get what comes on its streams, and a digest of all it said about them.
///
/// On the way it holds the session to its promises: an order of calls for each stream, one end for each, an error that
/// stays, and nothing after the end.
final class HTTP3Run: HTTP3SessionObserver {
    enum Cutting {
        case nowhere
        case everywhere
        case anywhere
    }

    private enum State {
        case open
        case hasHead
        case ended
        case closed
    }

    /// The events of each stream, and of the connection as such. The order of what comes together on several depends
    /// on the cuts: sections that wait for the table are delivered one by one, or when all of a piece is there.
    private var reported: [Int64: UInt64] = [:]
    private var random: UInt64
    private let isRestless: Bool
    private var session: HTTP3Session?
    private var states: [Int64: State] = [:]
    private var bodies: [Int64: UInt64] = [:]
    private var unread: [Int64: Int] = [:]
    /// How many pieces were begun, in which of them streams were ended for what they said, and in which the connection
    /// was.
    private var piece = 0
    private var breakingStreams: Set<Int> = []
    private var breakingConnection: Int?
    /// Streams of the server's own that are the one for control.
    private var controls: [Int64: Bool] = [:]
    private var submitted = 0
    private var isReporting = false
    private var sink: UInt8 = 0
    /// Of all streams' ends. They are reported when the libraries have returned, so what comes before them depends on the
    /// cuts.
    private var ends: UInt64 = 0

    init(_ bytes: UnsafeRawBufferPointer, choice: UInt8, cutting: Cutting, isRestless: Bool, seed: UInt64) {
        random = seed | 1
        self.isRestless = isRestless
        let limits =
            choice & 4 == 0
            ? HTTPStreamLimits()
            : HTTPStreamLimits(maximumHeadLength: 100, maximumFieldCount: 3, maximumInformationalResponses: 2)
        let windows =
            choice & 8 == 0
            ? StreamWindowSizes() : StreamWindowSizes(initialStream: 16, maximumStream: 64, maximumUnread: 8)
        let session = HTTP3Session.loose(
            configuration: HTTP3Configuration(limits: limits, windows: windows), streams: 20, observer: self)
        self.session = session
        for method in ["GET", "HEAD", "POST"] { submit(method) }
        if choice & 1 == 0 { takeOutput() }
        let hasFailed = feed(bytes, cutting: cutting)
        piece = 0
        // How much of a body that becomes too long is delivered depends on the cuts.
        if !hasFailed {
            for stream in states.keys.sorted() where states[stream] == .ended { mix(bodies[stream] ?? 0, of: stream) }
        }
        takeOutput()
        if hasFailed { precondition(!session.mayOpenStream && session.isFinished, "a failed session goes on") }
        session.fail()
        precondition(states.values.allSatisfy { $0 == .closed }, "a stream without an end")
        precondition(session.openStreamCount == 0 && states.count == submitted)
        precondition(!session.wantsOutput)
        if !isRestless, !hasFailed { mix(ends, of: Self.connection) }
        self.session = nil
    }

    // MARK: The server

    private func feed(_ bytes: UnsafeRawBufferPointer, cutting: Cutting) -> Bool {
        var input = bytes
        var before = reported
        do throws(HTTP3Error) {
            while let next = HTTP3Piece(&input) {
                before = reported
                piece += 1
                try feed(next, cutting: cutting)
            }
            return false
        } catch {
            // What of a piece is delivered before its breach depends on the cuts.
            reported = before
            breakingConnection = piece
            // The same breach may be met with another text.
            if case .violation(let code, _, _) = error {
                mix(code, of: Self.connection)
            } else {
                mix("\(error)".hashOfOctets, of: Self.connection)
            }
            do throws(HTTP3Error) {
                try session?.feed(bytes, isLast: false, on: 0)
                preconditionFailure("an error was forgotten")
            } catch {}
            return true
        }
    }

    private func feed(_ piece: HTTP3Piece, cutting: Cutting) throws(HTTP3Error) {
        let code = HTTP3ErrorCode(rawValue: 0x100 + UInt64(piece.bytes.first ?? 0))
        switch piece.kind {
        case .reset: try session?.feedReset(code, on: piece.stream)
        case .stop: try session?.feedStop(code, on: piece.stream)
        case .bytes, .end:
            // Of a stream of the server's own nghttp3 looks at the end before it looks at what comes with it, so that
            // an error might be another one.
            let endsApart = piece.kind == .end && piece.stream & 3 == 3
            // What waits for the table is delivered at the end of what fills it, and that may take away again what it fills
            // in.
            let isWhole = cutting == .nowhere && (piece.stream & 3 != 3 || isControl(piece))
            var start = 0
            repeat {
                let count =
                    switch cutting {
                    case .nowhere where isWhole: piece.bytes.count
                    case .nowhere, .everywhere: 1
                    case .anywhere: 1 + Int(truncatingIfNeeded: next() % 32)
                    }
                let end = min(start + count, piece.bytes.count)
                try feed(
                    UnsafeRawBufferPointer(rebasing: piece.bytes[start..<end]),
                    isLast: piece.kind == .end && !endsApart && end == piece.bytes.count, on: piece.stream)
                start = end
                if isRestless { beRestless() }
            } while start < piece.bytes.count
            if endsApart { try feed(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true, on: piece.stream) }
        }
    }

    private func isControl(_ piece: HTTP3Piece) -> Bool {
        if controls[piece.stream] == nil, let type = piece.bytes.first { controls[piece.stream] = type == 0 }
        return controls[piece.stream] ?? true
    }

    /// Gives the session a copy of its own, so that the address sanitizer sees a read outside of it.
    private func feed(_ bytes: UnsafeRawBufferPointer, isLast: Bool, on stream: Int64) throws(HTTP3Error) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyMemory(from: bytes)
        try session?.feed(UnsafeRawBufferPointer(copy), isLast: isLast, on: stream)
    }

    // MARK: The client

    /// Reads each octet, so that the address sanitizer sees one that is not there.
    private func takeOutput() {
        var total = 0
        while let output = session?.takeLooseOutput() {
            total += output.bytes.count
            precondition(total < 8 << 20, "output without end")
            for octet in output.bytes { sink = sink &+ octet }
        }
    }

    private func submit(_ method: String) {
        guard let session else { return }
        let request = HTTPStreamRequest(
            method: method, scheme: "https", path: "/",
            fields: HTTPFields([("Host", "a.example"), ("Cookie", "a=b; c=d")]), hasBody: method == "POST")
        do throws(HTTPStreamRequestError) {
            let stream = try session.submit(request)
            precondition(states.updateValue(.open, forKey: stream) == nil, "a number was used twice")
            submitted += 1
        } catch {
            precondition(error == .notAllowed)
        }
    }

    /// What a caller may do at any time, and a few things that it may not.
    private func beRestless() {
        guard let session else { return }
        let stream = 4 * Int64(truncatingIfNeeded: next() % 6)
        switch next() % 16 {
        case 0: if !isReporting { takeOutput() }
        case 1: session.reset(stream)
        case 2:
            session.reset(stream, code: .noError)
            unread[stream] = nil
        case 3 where submitted < 20: submit("GET")
        case 4 where submitted < 20: submit("POST")
        case 5: session.resumeBody(of: stream)
        case 6: session.consumed(Int(truncatingIfNeeded: next() % 40), on: stream)
        case 7: session.setPriority(urgency: Int(stream), isIncremental: true, of: stream)
        case 8: session.ping()
        case 9 where next() % 8 == 0: session.goAway()
        case 10 where next() % 16 == 0: session.fail()
        case 11 where isReporting:
            do throws(HTTP3Error) {
                precondition(session.takeLooseOutput() == nil, "output from inside")
                try session.feed(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true, on: 0)
                preconditionFailure("input from inside")
            } catch {
                precondition(error == .reentered)
            }
        case 12: _ = (session.mayOpenStream, session.isFinished, session.wantsOutput, session.isGoingAway)
        case 13: session.consumed(Int.max, on: stream)
        case 14: _ = session.receivedBodyFrameBytes(on: stream)
        case 15 where next() % 64 == 0: session.reject(alert: 42)
        default: break
        }
    }

    private func record(_ stream: Int64, _ value: UInt64, from allowed: [State], to state: State? = nil) {
        guard let before = states[stream] else { preconditionFailure("a stream that was not begun") }
        precondition(allowed.contains(before), "\(before) before \(value)")
        if let state { states[stream] = state }
        mix(value, of: stream)
        guard isRestless, !isReporting else { return }
        isReporting = true
        beRestless()
        isReporting = false
    }

    // MARK: HTTP3SessionObserver

    func received(informational head: HTTPStreamResponseHead, on stream: Int64) {
        precondition((100...199).contains(head.status) && head.status != 101)
        mix(head, of: stream)
        record(stream, 1, from: [.open])
    }

    func received(_ head: HTTPStreamResponseHead, endsStream: Bool, on stream: Int64) {
        precondition((200...999).contains(head.status))
        mix(head, of: stream)
        // Whether the end is known already depends on the cuts.
        record(stream, 2, from: [.open], to: .hasHead)
    }

    func received(body bytes: UnsafeRawBufferPointer, on stream: Int64) {
        precondition(states[stream] == .hasHead, "a body without a head")
        for octet in bytes {
            bodies[stream] = ((bodies[stream] ?? 0) ^ UInt64(octet) &+ 1) &* 0x100_0000_01B3
        }
        guard isRestless else { return session?.consumed(bytes.count, on: stream) ?? () }
        unread[stream, default: 0] += bytes.count
        if next() % 2 == 0 { session?.consumed(unread.removeValue(forKey: stream) ?? 0, on: stream) }
    }

    func responseEnded(on stream: Int64) {
        record(stream, 4, from: [.hasHead], to: .ended)
    }

    func closed(_ stream: Int64, with failure: HTTPStreamFailure?) {
        guard let before = states[stream] else { preconditionFailure("a stream that was not begun") }
        precondition(before != .closed, "two ends")
        // A stream that was reset here and had its end before is as whole as one that was not.
        precondition(failure != nil || before == .ended, "whole without an end")
        states[stream] = .closed
        if failure != nil { breakingStreams.insert(piece) }
        let body = failure == nil ? bodies[stream] ?? 0 : 0
        ends &+= (body ^ UInt64(stream) << 32 ^ Self.number(of: failure)) &* 0x9E37_79B9_7F4A_7C15
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer, withBodyOf stream: Int64) -> HTTPStreamBodyRead {
        precondition(!buffer.isEmpty, "no room for a body")
        guard isRestless else {
            buffer.copyBytes(from: repeatElement(0x62, count: 5))
            return .bytes(5, isLast: true)
        }
        if !isReporting {
            isReporting = true
            beRestless()
            isReporting = false
        }
        buffer.copyBytes(from: repeatElement(0x62, count: buffer.count))
        return switch next() % 6 {
        case 0: .later
        case 1: .failed
        case 2: .bytes(-1, isLast: false)
        case 3: .bytes(Int.max, isLast: true)
        default: .bytes(Int(truncatingIfNeeded: next() % 300), isLast: next() % 4 == 0)
        }
    }

    func sentHead(on stream: Int64, byteCount: Int) {
        precondition(states[stream] != .closed && byteCount > 2)
    }

    func sentBody(on stream: Int64, byteCount: Int, frameByteCount: Int) {
        precondition(states[stream] != .closed && byteCount > 0 && frameByteCount >= byteCount + 2)
    }

    func sentRequest(on stream: Int64) { precondition(states[stream] != .closed) }
    func peerSettingsChanged() {}

    func peerIsGoingAway(lastStream: Int64) {
        mix(UInt64(bitPattern: lastStream), of: Self.connection)
        precondition(session?.isGoingAway == true)
    }

    func receivedPingAnswer() { preconditionFailure("a PING has no answer here") }
    func received(certificates chain: [[UInt8]], cipherSuite: UInt16) {
        preconditionFailure("there is no handshake here")
    }
    func handshakeCompleted() { preconditionFailure("there is no handshake here") }
    func received(_ resumption: HTTP3Resumption) {
        preconditionFailure("there is no handshake here")
    }

    // MARK: The digest

    private static func number(of failure: HTTPStreamFailure?) -> UInt64 {
        switch failure {
        case nil: 5
        case .truncated: 9
        default: 6
        }
    }

    private func mix(_ head: HTTPStreamResponseHead, of stream: Int64) {
        mix(UInt64(head.status), of: stream)
        mix(UInt64(head.byteCount), of: stream)
        for position in head.fields.positions {
            precondition(position.nameLength > 0, "a field without a name")
            for (start, length) in [
                (position.nameStart, position.nameLength), (position.valueStart, position.valueLength),
            ] {
                precondition(Int(start) + Int(length) <= head.fields.bytes.count, "a position outside the block")
                for octet in head.fields.bytes[Int(start)..<(Int(start) + Int(length))] {
                    precondition(octet != 0x00 && octet != 0x0A && octet != 0x0D, "a line end or NUL in a field")
                    mix(UInt64(octet), of: stream)
                }
            }
        }
    }

    /// Whether the events were the same. What follows in a piece on a stream that has ended for what it said is not looked at
    /// where it comes by itself, and may break a rule of the connection's where it does not.
    func saysTheSame(as other: HTTP3Run) -> Bool {
        if digest == other.digest { return true }
        guard let broken = breakingConnection else { return false }
        return other.breakingStreams.contains(broken)
    }

    private var digest: UInt64 { reported.reduce(0) { $0 &+ Self.mixed(UInt64(bitPattern: $1.key), $1.value) } }

    private func mix(_ value: UInt64, of stream: Int64) { reported[stream] = Self.mixed(reported[stream] ?? 0, value) }

    private static func mixed(_ digest: UInt64, _ value: UInt64) -> UInt64 {
        let product = (digest ^ value) &* 0x9E37_79B9_7F4A_7C15
        return product ^ product >> 29
    }

    private static let connection: Int64 = -1

    /// Marsaglia's xorshift: the same numbers for the same input.
    private func next() -> UInt64 {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return random
    }
}

extension String {
    fileprivate var hashOfOctets: UInt64 {
        utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
