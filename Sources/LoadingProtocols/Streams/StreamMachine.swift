package import LoadingSemantics

/// The state of a stream task: reads and writes, each in the order of their requests, and actions that follow earlier
/// ones. It owns no socket, no clock and no bytes; it only counts bytes.
///
/// The owner reports requests and events, and performs the returned actions. Between two calls `bytesWanted`,
/// `nextWrite` and `deadline` say what to do next. Times are nanoseconds of a monotonic clock. At most `readAhead`
/// bytes are buffered before they are requested, unless a read requires more.
///
/// A timeout of a read or write fails its direction: all waiting and later requests of it fail the same way, while the
/// other direction goes on. A broken connection fails both. Bytes that arrived before are delivered first.
package struct StreamMachine: Sendable, Equatable {
    package enum Action: Sendable, Equatable {
        /// Give that read the first so many of the bytes that are here.
        case completeRead(Int, count: Int, isAtEnd: Bool)
        case failRead(Int, LoadError)
        case completeWrite(Int)
        case failWrite(Int, LoadError)
        /// Nothing that is here or still comes is wanted.
        case closeReading
        /// Tell the peer that nothing more comes.
        case closeWriting
        case reportReadClosed
        case reportWriteClosed
        /// Put TLS over the connection; then `secured`.
        case secure
        /// The connection, and the bytes that are here, are another's now. All is over.
        case handOver
        /// All is over.
        case end(LoadError?)
    }

    private enum Phase: Equatable {
        case connecting
        case open
        case securing
        case over
    }

    private enum Entry: Equatable {
        /// A read of at least and at most so many bytes; or a write with so many bytes left.
        case transfer(Int, least: Int, most: Int, timeout: Int64?)
        case close
        /// These stand in both lines, and have their turn when they are first in both.
        case secure
        case capture
    }

    private enum Side: Equatable {
        case open
        /// By the user.
        case closed
        case failed(LoadError)
    }

    /// One direction.
    private struct Line: Equatable {
        var entries: ArraySlice<Entry> = []
        var side = Side.open
        /// When the first entry's time is over, once it has its turn.
        var deadline: Int64?
        var hasReportedClosed = false

        mutating func popFirst() {
            deadline = nil
            entries.removeFirst()
            if entries.isEmpty { entries = [] }
        }
    }

    /// The most bytes that are buffered without a request.
    package static let readAhead = 64 * 1024

    private var phase: Phase
    /// Whether TLS with the host is in use. TLS that ends at a proxy does not count.
    private var isSecure: Bool
    private var reading = Line()
    private var writing = Line()
    /// Received bytes that no read has taken.
    private var buffered: Int
    /// The peer sends no more.
    package private(set) var hasEnded = false
    /// The connection broke, which counts once what came before is taken.
    private var breakage: LoadError?
    /// The first thing that went wrong.
    private var firstError: LoadError?
    private var suspensionTime: Int64?

    /// - Parameters:
    ///   - buffered: so many bytes are here already, and the connection is open; nil if it has to be made.
    ///   - isSecure: whether it uses TLS with the host already.
    package init(buffered: Int? = nil, isSecure: Bool = false) {
        phase = buffered == nil ? .connecting : .open
        self.isSecure = isSecure
        self.buffered = buffered ?? 0
    }

    // MARK: What is to be done

    /// How many bytes may be read from the connection now.
    package var bytesWanted: Int {
        guard phase == .open, suspensionTime == nil, reading.side == .open, !hasEnded, breakage == nil else { return 0 }
        switch reading.entries.first {
        // These bytes would belong to TLS, or to the new owner.
        case .secure where !isSecure: return 0
        case .capture: return 0
        case .transfer(_, let least, _, _): return max(max(least, Self.readAhead) - buffered, 0)
        case .secure, .close, nil: return max(Self.readAhead - buffered, 0)
        }
    }

    /// Whether bytes should be read and dropped: the peer may wait until they are read.
    package var dropsBytes: Bool {
        phase == .open && suspensionTime == nil && reading.side == .closed && !hasEnded && breakage == nil
    }

    /// The write that has its turn, and how many of its bytes are not written yet.
    package var nextWrite: (id: Int, rest: Int)? {
        guard phase == .open, suspensionTime == nil, writing.side == .open,
            case .transfer(let id, _, let rest, _)? = writing.entries.first
        else { return nil }
        return (id, rest)
    }

    /// When to call `timePassed`.
    package var deadline: Int64? {
        guard suspensionTime == nil else { return nil }
        return [reading.deadline, writing.deadline].compactMap(\.self).min()
    }

    /// Whether the connection, or its TLS, is still being made.
    package var isConnecting: Bool { phase == .connecting || phase == .securing }

    /// Whether a read would find the end of the stream and nothing before it.
    private var isReadToEnd: Bool { hasEnded && buffered == 0 && reading.side == .open }

    /// The error of requests after the end.
    private var errorAfterEnd: LoadError { firstError ?? .streamIsClosed }

    // MARK: Operations

    /// A read of at least one byte, unless `most` is 0: one that was content with none would never wait.
    package mutating func read(_ id: Int, least: Int, most: Int, timeout: Int64?, at now: Int64) -> [Action] {
        let most = max(0, most)
        if phase == .over {
            return isReadToEnd && firstError == nil
                ? [.completeRead(id, count: 0, isAtEnd: true)] : [.failRead(id, errorAfterEnd)]
        }
        reading.entries.append(.transfer(id, least: min(max(1, least), most), most: most, timeout: timeout))
        return advance(at: now)
    }

    package mutating func write(_ id: Int, count: Int, timeout: Int64?, at now: Int64) -> [Action] {
        if phase == .over { return [.failWrite(id, errorAfterEnd)] }
        writing.entries.append(.transfer(id, least: 0, most: count, timeout: timeout))
        return advance(at: now)
    }

    package mutating func closeReading(at now: Int64) -> [Action] { enqueue([\.reading], .close, at: now) }

    package mutating func closeWriting(at now: Int64) -> [Action] { enqueue([\.writing], .close, at: now) }

    package mutating func secure(at now: Int64) -> [Action] { enqueue([\.reading, \.writing], .secure, at: now) }

    package mutating func capture(at now: Int64) -> [Action] { enqueue([\.reading, \.writing], .capture, at: now) }

    private mutating func enqueue(
        _ lines: [WritableKeyPath<StreamMachine, Line>], _ entry: Entry, at now: Int64
    ) -> [Action] {
        if phase == .over { return [] }
        for line in lines { self[keyPath: line].entries.append(entry) }
        return advance(at: now)
    }

    /// Nothing moves until `resume`, and no time passes.
    package mutating func suspend(at now: Int64) { suspensionTime = suspensionTime ?? now }

    package mutating func resume(at now: Int64) -> [Action] {
        guard let since = suspensionTime else { return [] }
        suspensionTime = nil
        reading.deadline = reading.deadline.flatMap { Self.deadline(after: now - since, from: $0) }
        writing.deadline = writing.deadline.flatMap { Self.deadline(after: now - since, from: $0) }
        return advance(at: now)
    }

    // MARK: What happened

    package mutating func connected(at now: Int64) -> [Action] {
        guard phase == .connecting else { return [] }
        phase = .open
        return advance(at: now)
    }

    package mutating func secured(at now: Int64) -> [Action] {
        guard phase == .securing else { return [] }
        phase = .open
        isSecure = true
        return advance(at: now)
    }

    package mutating func received(_ count: Int, at now: Int64) -> [Action] {
        guard phase != .over, reading.side == .open else { return [] }
        buffered += count
        return advance(at: now)
    }

    /// The peer sends no more.
    package mutating func receivedEnd(at now: Int64) -> [Action] {
        guard phase != .over, !hasEnded else { return [] }
        hasEnded = true
        return reportReadClosed() + advance(at: now)
    }

    package mutating func wrote(_ count: Int, at now: Int64) -> [Action] {
        guard phase != .over, case .transfer(let id, let least, let rest, let timeout)? = writing.entries.first
        else { return [] }
        writing.entries[writing.entries.startIndex] = .transfer(
            id, least: least, most: max(0, rest - count), timeout: timeout)
        return advance(at: now)
    }

    /// The peer takes no more; what it has sent may still be there to be read.
    package mutating func writingBroke(_ error: LoadError, at now: Int64) -> [Action] {
        guard phase != .over, writing.side == .open else { return [] }
        fail(\.writing, error)
        return reportWriteClosed() + advance(at: now)
    }

    /// Nothing more comes and nothing more can be sent.
    package mutating func broke(_ error: LoadError, at now: Int64) -> [Action] {
        guard phase == .open else { return fail(error) }
        breakage = breakage ?? error
        if writing.side == .open { fail(\.writing, error) }
        return advance(at: now)
    }

    /// Ends everything.
    package mutating func fail(_ error: LoadError) -> [Action] {
        guard phase != .over else { return [] }
        firstError = error
        return drain(error) + [.end(error)]
    }

    package mutating func timePassed(at now: Int64) -> [Action] {
        guard phase == .open, suspensionTime == nil else { return [] }
        if let deadline = reading.deadline, deadline <= now { fail(\.reading, .timedOut) }
        if let deadline = writing.deadline, deadline <= now { fail(\.writing, .timedOut) }
        return advance(at: now)
    }

    // MARK: Moving on

    private mutating func fail(_ line: WritableKeyPath<StreamMachine, Line>, _ error: LoadError) {
        self[keyPath: line].side = .failed(error)
        firstError = firstError ?? error
    }

    /// Does all that can be done.
    private mutating func advance(at now: Int64) -> [Action] {
        guard phase == .open, suspensionTime == nil else { return [] }
        var actions: [Action] = []
        var hasMoved = true
        while hasMoved, phase == .open {
            hasMoved = false
            while let moved = advanceReading(at: now) {
                actions += moved
                hasMoved = true
            }
            while let moved = advanceWriting(at: now) {
                actions += moved
                hasMoved = true
            }
            if let moved = meet() {
                actions += moved
                hasMoved = true
            }
        }
        if phase == .open { actions += endIfDone() }
        return actions
    }

    /// Deals with the first entry of the line of reads; nil when it has to wait.
    private mutating func advanceReading(at now: Int64) -> [Action]? {
        guard let entry = reading.entries.first else { return nil }
        switch entry {
        case .secure, .capture: return nil
        case .close:
            reading.popFirst()
            guard reading.side == .open else { return [] }
            reading.side = .closed
            buffered = 0
            return [.closeReading] + reportReadClosed()
        case .transfer(let id, let least, let most, let timeout):
            switch reading.side {
            case .closed:
                reading.popFirst()
                return [.failRead(id, .streamIsClosed)]
            case .failed(let error):
                reading.popFirst()
                return [.failRead(id, error)]
            case .open: break
            }
            guard buffered >= least || hasEnded else {
                if reading.deadline == nil { reading.deadline = Self.deadline(after: timeout, from: now) }
                return nil
            }
            let count = min(buffered, most)
            buffered -= count
            reading.popFirst()
            return [.completeRead(id, count: count, isAtEnd: hasEnded && buffered == 0)]
        }
    }

    private mutating func advanceWriting(at now: Int64) -> [Action]? {
        guard let entry = writing.entries.first else { return nil }
        switch entry {
        case .secure, .capture: return nil
        case .close:
            writing.popFirst()
            guard writing.side == .open else { return [] }
            writing.side = .closed
            return [.closeWriting] + reportWriteClosed()
        case .transfer(let id, _, let rest, let timeout):
            switch writing.side {
            case .closed:
                writing.popFirst()
                return [.failWrite(id, .streamIsClosed)]
            case .failed(let error):
                writing.popFirst()
                return [.failWrite(id, error)]
            case .open: break
            }
            guard rest == 0 else {
                if writing.deadline == nil { writing.deadline = Self.deadline(after: timeout, from: now) }
                return nil
            }
            writing.popFirst()
            return [.completeWrite(id)]
        }
    }

    /// What has its turn when both lines have come to it.
    private mutating func meet() -> [Action]? {
        guard let first = reading.entries.first, first == writing.entries.first else { return nil }
        switch first {
        case .transfer, .close: return nil
        case .secure, .capture: break
        }
        reading.popFirst()
        writing.popFirst()
        // TLS is not negotiated twice, so the state of the connection does not matter.
        if first == .secure, isSecure { return [] }
        for side in [reading.side, writing.side] {
            if case .failed(let error) = side { return fail(error) }
        }
        if let breakage, buffered == 0 { return fail(breakage) }
        if first == .capture {
            firstError = .streamIsClosed
            return drain(.streamIsClosed) + [.handOver]
        }
        guard reading.side == .open, writing.side == .open, !hasEnded else { return fail(.streamIsClosed) }
        // These bytes are not authenticated, and must not be read as if they had come after the handshake.
        guard buffered == 0 else { return fail(.secureConnectionFailed(0, "bytes before the handshake")) }
        phase = .securing
        return [.secure]
    }

    /// Nothing is left that could happen.
    private mutating func endIfDone() -> [Action] {
        let isWaiting =
            switch reading.entries.first {
            case .transfer: true
            case .close, .secure, .capture, nil: false
            }
        if let breakage, buffered == 0 || isWaiting || reading.side != .open { return fail(breakage) }
        guard writing.side != .open, reading.side != .open || isReadToEnd, reading.entries.isEmpty,
            writing.entries.isEmpty
        else { return [] }
        phase = .over
        return [.end(firstError)]
    }

    /// Fails everything that waits.
    private mutating func drain(_ error: LoadError) -> [Action] {
        phase = .over
        let reads = reading.entries.compactMap { entry -> Action? in
            if case .transfer(let id, _, _, _) = entry { .failRead(id, error) } else { nil }
        }
        let writes = writing.entries.compactMap { entry -> Action? in
            if case .transfer(let id, _, _, _) = entry { .failWrite(id, error) } else { nil }
        }
        reading.entries = []
        writing.entries = []
        reading.deadline = nil
        writing.deadline = nil
        return reads + writes
    }

    private mutating func reportReadClosed() -> [Action] {
        defer { reading.hasReportedClosed = true }
        return reading.hasReportedClosed ? [] : [.reportReadClosed]
    }

    private mutating func reportWriteClosed() -> [Action] {
        defer { writing.hasReportedClosed = true }
        return writing.hasReportedClosed ? [] : [.reportWriteClosed]
    }

    private static func deadline(after timeout: Int64?, from now: Int64) -> Int64? {
        guard let timeout else { return nil }
        let (time, overflow) = now.addingReportingOverflow(timeout)
        return overflow ? .max : time
    }
}
