import LoadingProtocols
import LoadingSemantics

/// One way for a session to get a connection's bytes, and a digest of all it said about them.
///
/// On the way it holds the session to its promises: an order of calls for each stream, one end for each, no more body
/// than windows allow, frames that are whole, an error that stays, and nothing after the end.
final class HTTP2Run: HTTP2SessionObserver {
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

    private(set) var digest: UInt64 = 0
    private var random: UInt64
    private let isRestless: Bool
    private var session: HTTP2Session?
    private var states: [Int64: State] = [:]
    private var bodies: [Int64: UInt64] = [:]
    private var unread: [Int64: Int] = [:]
    private var submitted = 0
    private var isReporting = false

    init(_ bytes: UnsafeRawBufferPointer, choice: UInt8, cutting: Cutting, isRestless: Bool, seed: UInt64) {
        random = seed | 1
        self.isRestless = isRestless
        let limits =
            choice & 4 == 0
            ? HTTPStreamLimits()
            : HTTPStreamLimits(
                maximumHeadLength: 100, maximumFieldCount: 3, maximumInformationalResponses: 2, maximumUnsentAnswers: 8)
        let windows =
            choice & 8 == 0
            ? StreamWindowSizes()
            : StreamWindowSizes(initialStream: 16, maximumStream: 64, connection: 70_000, maximumUnread: 8)
        let session = HTTP2Session(
            configuration: HTTP2Configuration(limits: limits, windows: windows), observer: self)
        self.session = session
        for method in ["GET", "HEAD", "POST"] { submit(method) }
        if choice & 1 == 0 { takeOutput() }
        var hasFailed = false
        do throws(HTTP2Error) {
            var start = 0
            while start < bytes.count {
                let count =
                    switch cutting {
                    case .nowhere: bytes.count
                    case .everywhere: 1
                    case .anywhere: 1 + Int(truncatingIfNeeded: next() % 32)
                    }
                let end = min(start + count, bytes.count)
                try receive(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end
                if isRestless { beRestless() }
            }
        } catch {
            hasFailed = true
            mix("\(error)".hashOfOctets)
            do throws(HTTP2Error) {
                try receive(UnsafeRawBufferPointer(rebasing: bytes[0..<min(1, bytes.count)]))
                precondition(bytes.isEmpty, "an error was forgotten")
            } catch {}
        }
        // How much of a body that becomes too long is delivered depends on the cuts.
        for stream in states.keys.sorted() where states[stream] == .ended { mix(bodies[stream] ?? 0) }
        takeOutput()
        if hasFailed { precondition(!session.mayOpenStream && session.isFinished, "a failed session goes on") }
        session.fail()
        precondition(states.values.allSatisfy { $0 == .closed }, "a stream without an end")
        precondition(session.openStreamCount == 0 && states.count == submitted)
        precondition(!session.wantsOutput)
        self.session = nil
    }

    /// Gives the session a copy of its own, so that the address sanitizer sees a read outside of it.
    private func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTP2Error) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyMemory(from: bytes)
        try session?.receive(UnsafeRawBufferPointer(copy))
    }

    private func takeOutput() {
        var total = 0
        do throws(HTTP2Error) {
            while let output = try session?.nextOutput() {
                precondition(!output.isEmpty, "an empty output")
                total += output.count
                precondition(total < 8 << 20, "output without end")
                for octet in output { mixUnordered(octet) }
            }
        } catch {
            mixUnordered(0)
        }
    }

    /// Reads each octet, so that the address sanitizer sees one that is not there.
    private func mixUnordered(_ octet: UInt8) { sink = sink &+ octet }
    private var sink: UInt8 = 0

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
        let stream = Int64(truncatingIfNeeded: next() % 12)
        switch next() % 16 {
        case 0: takeOutput()
        case 1: session.reset(stream)
        case 2:
            session.reset(stream, code: .noError)
            unread[stream] = nil
        case 3 where submitted < 20: submit("GET")
        case 4 where submitted < 20: submit("POST")
        case 5: session.resumeBody(of: stream)
        case 6: session.consumed(Int(truncatingIfNeeded: next() % 40), on: stream)
        case 7: session.setPriority(urgency: Int(stream), isIncremental: true, of: stream)
        case 8: session.ping(next())
        case 9 where next() % 8 == 0: session.goAway()
        case 10 where next() % 16 == 0: session.fail()
        case 11 where isReporting:
            do throws(HTTP2Error) {
                let output = try session.nextOutput()
                precondition(output == nil, "output from inside")
                try session.receive(UnsafeRawBufferPointer(start: nil, count: 0))
                preconditionFailure("input from inside")
            } catch {
                precondition(error == .reentered)
            }
        case 12: _ = (session.mayOpenStream, session.isFinished, session.wantsOutput, session.isGoingAway)
        case 13: session.consumed(Int.max, on: stream)
        case 14: _ = session.receivedBodyFrameBytes(on: stream)
        default: break
        }
    }

    private func record(_ stream: Int64, _ value: UInt64, from allowed: [State], to state: State? = nil) {
        guard let before = states[stream] else { preconditionFailure("a stream that was not begun") }
        precondition(allowed.contains(before), "\(before) before \(value)")
        if let state { states[stream] = state }
        mix(UInt64(UInt32(truncatingIfNeeded: stream)) << 32 | value)
        guard isRestless, !isReporting else { return }
        isReporting = true
        beRestless()
        isReporting = false
    }

    // MARK: HTTP2SessionObserver

    func received(informational head: HTTPStreamResponseHead, on stream: Int64) {
        precondition((100...199).contains(head.status) && head.status != 101)
        mix(head)
        record(stream, 1, from: [.open])
    }

    func received(_ head: HTTPStreamResponseHead, endsStream: Bool, on stream: Int64) {
        precondition((200...999).contains(head.status))
        mix(head)
        record(stream, endsStream ? 2 : 3, from: [.open], to: .hasHead)
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
        if failure == nil { mix(bodies[stream] ?? 0) }
        if !isRestless { mix(UInt64(UInt32(truncatingIfNeeded: stream)) << 32 | Self.number(of: failure)) }
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer, withBodyOf stream: Int64) -> HTTPStreamBodyRead {
        precondition(!buffer.isEmpty, "no room for a body")
        buffer.copyBytes(from: repeatElement(0x62, count: buffer.count))
        guard isRestless else { return .bytes(min(5, buffer.count), isLast: true) }
        if !isReporting {
            isReporting = true
            beRestless()
            isReporting = false
        }
        return switch next() % 6 {
        case 0: .later
        case 1: .failed
        case 2: .bytes(-1, isLast: false)
        case 3: .bytes(Int.max, isLast: true)
        default: .bytes(Int(truncatingIfNeeded: next() % 300), isLast: next() % 4 == 0)
        }
    }

    func sentHead(on stream: Int64, byteCount: Int) {
        precondition(states[stream] != .closed && byteCount > 9)
    }

    func sentBody(on stream: Int64, byteCount: Int, frameByteCount: Int) {
        precondition(states[stream] != .closed && byteCount >= 0 && frameByteCount == byteCount + 9)
    }

    func sentRequest(on stream: Int64) { precondition(states[stream] != .closed) }

    func peerSettingsChanged() { mix(7) }

    func peerIsGoingAway(lastStream: Int64, code: HTTP2ErrorCode) {
        mix(UInt64(code.rawValue) << 8 | 8)
        precondition(session?.isGoingAway == true)
    }

    func receivedPingAnswer(_ payload: UInt64) { mix(payload) }

    // MARK: The digest

    private static func number(of failure: HTTPStreamFailure?) -> UInt64 {
        switch failure {
        case nil: 5
        case .truncated: 9
        default: 6
        }
    }

    private func mix(_ head: HTTPStreamResponseHead) {
        mix(UInt64(head.status))
        mix(UInt64(head.byteCount))
        for position in head.fields.positions {
            precondition(position.nameLength > 0, "a field without a name")
            for (start, length) in [
                (position.nameStart, position.nameLength), (position.valueStart, position.valueLength),
            ] {
                precondition(Int(start) + Int(length) <= head.fields.bytes.count, "a position outside the block")
                for octet in head.fields.bytes[Int(start)..<(Int(start) + Int(length))] {
                    precondition(octet != 0x00 && octet != 0x0A && octet != 0x0D, "a line end or NUL in a field")
                    mix(UInt64(octet))
                }
            }
        }
    }

    private func mix(_ value: UInt64) {
        digest = (digest ^ value) &* 0x9E37_79B9_7F4A_7C15
        digest ^= digest >> 29
    }

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
