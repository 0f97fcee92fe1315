internal import Foundation

/// The bytes between two bound streams, and both ends.
final class BoundPipe: @unchecked Sendable {
    // Sendable: the mutable state, also that of the ends, is guarded by `condition`.

    private enum Readiness { case waiting, ready, over }

    let input = BoundStreamEnd(ready: .hasBytesAvailable, last: (.endEncountered, .atEnd))
    let output = BoundStreamEnd(ready: .hasSpaceAvailable, last: (.errorOccurred, .error))

    private let capacity: Int
    private let condition = NSCondition()
    /// At most `capacity`. A slice, because it drops its first bytes without moving the others.
    private var bytes: ArraySlice<UInt8> = []

    init(capacity: Int) { self.capacity = capacity }

    // MARK: State

    func status(of end: BoundStreamEnd) -> Stream.Status { condition.withLock { end.status } }

    /// Whether `read` or `write` returns at once.
    func isUsable(_ end: BoundStreamEnd) -> Bool {
        condition.withLock { end.status == .open && readiness(of: end) != .waiting }
    }

    func open(_ end: BoundStreamEnd) {
        update { if end.status == .notOpen { end.status = .open } }
    }

    func close(_ end: BoundStreamEnd) {
        end.schedule.end()
        update {
            end.status = .closed
            if end === input { bytes = [] }
        }
    }

    private func readiness(of end: BoundStreamEnd) -> Readiness {
        guard end.status == .open else { return .over }
        if end === input { return !bytes.isEmpty ? .ready : output.status == .closed ? .over : .waiting }
        return input.status == .closed ? .over : bytes.count < capacity ? .ready : .waiting
    }

    /// Changes the state, wakes the threads that wait for it, and makes callbacks due.
    private func update<Result>(_ change: () -> Result) -> Result {
        let (result, ends) = condition.withLock {
            let result = change()
            let ends = [input, output].filter { !$0.isCallbackDue && nextEvent(of: $0) != nil }
            for end in ends { end.isCallbackDue = true }
            condition.broadcast()
            return (result, ends)
        }
        for end in ends { end.schedule.perform { [self] in callDelegate(of: end) } }
        return result
    }

    // MARK: Bytes

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        use(input) {
            let piece = bytes.prefix(buffer.count)
            buffer.copyBytes(from: piece)
            bytes.removeFirst(piece.count)
            return piece.count
        }
    }

    func write(_ buffer: UnsafeRawBufferPointer) -> Int {
        use(output) {
            let piece = buffer.prefix(capacity - bytes.count)
            bytes += piece
            return piece.count
        }
    }

    /// Waits until there are bytes, or space for them, and moves some.
    private func use(_ end: BoundStreamEnd, _ move: () -> Int) -> Int {
        update {
            while readiness(of: end) == .waiting { condition.wait() }
            if end.status == .open, readiness(of: end) == .over { end.status = end.last.status }
            guard end.status == .open else { return end.status == .atEnd ? 0 : -1 }
            end.deliveredEvents.remove(end.readyEvent)
            return move()
        }
    }

    // MARK: Events

    /// The event that the delegate gets next in the current state.
    private func nextEvent(of end: BoundStreamEnd) -> Stream.Event? {
        guard end.status != .notOpen, end.status != .closed else { return nil }
        guard end.deliveredEvents.contains(.openCompleted) else { return .openCompleted }
        let event: Stream.Event
        switch readiness(of: end) {
        case .waiting: return nil
        case .ready: event = end.readyEvent
        case .over: event = end.last.event
        }
        return end.deliveredEvents.contains(event) ? nil : event
    }

    private func callDelegate(of end: BoundStreamEnd) {
        let event = update { () -> Stream.Event? in
            end.isCallbackDue = false
            guard let event = nextEvent(of: end) else { return nil }
            end.deliveredEvents.insert(event)
            if event == end.last.event { end.status = end.last.status }
            return event
        }
        guard let event, let stream = end.stream else { return }
        stream.delegate?.stream(stream, handle: event)
    }
}
