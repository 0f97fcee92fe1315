internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics

/// A connection to a message bus on an event loop, to which it is confined. Nothing blocks the loop: the connection is
/// opened on a thread of its own, because the socket of a bus that hangs may have no room for another client.
///
/// Calls may be made at once. It ends when the bus ends the connection, and must be closed at last.
package final class BusClient: ReadinessHandler, LoopTimerTarget {
    package typealias Completion = (Result<[BusValue], BusFailure>) -> Void

    private struct PendingCall {
        let deadline: Int64
        let completion: Completion
    }

    private struct WaitingCall {
        let call: BusCall
        let pending: PendingCall
    }

    private enum State {
        case opening
        /// The descriptor is a duplicate: libdbus may close its own at any time.
        case open(BusConnection, descriptor: Int32, LoopRegistration)
        case ended(BusFailure)
    }

    private let loop: EventLoop
    private let signal: (BusMessage) -> Void
    private let ended: (BusFailure) -> Void
    private var state = State.opening
    private var opening: BusOpening?
    private var calls: [UInt32: PendingCall] = [:]
    /// Calls that were made before the connection was open, or when too many had no reply.
    private var waitingCalls: [WaitingCall] = []
    private let timer = LoopTimer()

    package static let busName = "org.freedesktop.DBus"
    /// Source: a bus allows a connection 128 calls without a reply by default (`max_replies_per_connection`), and fails
    /// the others.
    private static let mostPendingCalls = 64
    /// How often the connection is read in one turn of the loop. libdbus reads 2 KiB at a time.
    private static let readsTogether = 16

    /// - Parameters:
    ///   - signal: Called for each signal that was asked for with `AddMatch`. Any program may send one, so the sender
    ///     has to be looked at.
    ///   - ended: Called when the connection could not be opened, or was lost, after the completions of all calls.
    package init(
        on loop: EventLoop, address: String, signal: @escaping (BusMessage) -> Void,
        ended: @escaping (BusFailure) -> Void
    ) {
        self.loop = loop
        self.signal = signal
        self.ended = ended
        let box = LoopBox(self, on: loop)
        opening = BusOpening.begin(address) { opened in loop.post { box.value.becameOpen(opened.result) } }
        if opening == nil { loop.post { box.value.fail(.noResources) } }
    }

    private func becameOpen(_ result: Result<BusConnection, BusFailure>) {
        opening = nil
        switch result {
        case .failure(let failure): fail(failure)
        case .success(let connection):
            guard case .opening = state else { return connection.close() }
            guard let first = connection.pollEntries().first else {
                connection.close()
                return fail(.connectionLost)
            }
            let descriptor = fcntl(first.fd, F_DUPFD_CLOEXEC, 0)
            guard descriptor >= 0, let registration = loop.register(descriptor, self) else {
                if descriptor >= 0 { Glibc.close(descriptor) }
                connection.close()
                return fail(.noResources)
            }
            state = .open(connection, descriptor: descriptor, registration)
            // The bus ends a connection whose first message is another one.
            let hello = WaitingCall(
                call: .toBus("Hello"),
                pending: PendingCall(deadline: loop.now + loop.limits.busReply) { [unowned self] result in
                    if case .failure(let failure) = result { self.fail(failure) }
                })
            waitingCalls.insert(hello, at: 0)
            sendWaitingCalls()
        }
    }

    package var hasEnded: Bool { if case .ended = state { true } else { false } }

    /// Completions and the other closures are not called any more.
    package func close() {
        calls = [:]
        waitingCalls = []
        end(.connectionLost)
    }

    // MARK: Calls

    /// - Parameter completion: Called on the loop, never from within this method.
    package func call(_ call: BusCall, completion: @escaping Completion) {
        loop.checkConfinement(of: "A connection to a bus")
        waitingCalls.append(
            WaitingCall(
                call: call, pending: PendingCall(deadline: loop.now + loop.limits.busReply, completion: completion)))
        // Also wakes up a client that has ended, to report that.
        loop.callAgain(self)
    }

    private func sendWaitingCalls() {
        guard case .open(let connection, _, _) = state else { return }
        while calls.count < Self.mostPendingCalls, !waitingCalls.isEmpty {
            let next = waitingCalls.removeFirst()
            do throws(BusFailure) {
                calls[try connection.send(next.call)] = next.pending
            } catch {
                next.pending.completion(.failure(error))
                guard case .open = state else { return }
            }
        }
        armTimer()
        // libdbus may have more to write.
        loop.callAgain(self)
    }

    private func armTimer() {
        let deadlines = calls.values.lazy.map(\.deadline).min() ?? .max
        let next = min(deadlines, waitingCalls.lazy.map(\.pending.deadline).min() ?? .max)
        if next == .max { loop.disarm(timer) } else { loop.arm(timer, at: next, for: self) }
    }

    package func timerFired(_ timer: LoopTimer) {
        // The bus has no room for another client.
        if case .opening = state { return fail(.connectionLost) }
        let now = loop.now
        var late = waitingCalls.filter { $0.pending.deadline <= now }.map(\.pending)
        waitingCalls.removeAll { $0.pending.deadline <= now }
        for (serial, call) in calls where call.deadline <= now {
            calls[serial] = nil
            late.append(call)
        }
        armTimer()
        for call in late { call.completion(.failure(.connectionLost)) }
    }

    // MARK: Messages

    package func becameReady(_ readiness: Readiness) {
        switch state {
        case .opening: return armTimer()
        case .ended(let failure): return failWaitingCalls(failure)
        case .open: break
        }
        for _ in 0..<Self.readsTogether {
            guard case .open(let connection, _, _) = state else { return }
            var entries = connection.pollEntries()
            guard poll(&entries, nfds_t(entries.count), 0) > 0 else {
                if !waitingCalls.isEmpty, calls.count < Self.mostPendingCalls { sendWaitingCalls() }
                return
            }
            connection.handle(entries)
            while case .open = state, let message = connection.nextMessage() { handle(message) }
            guard case .open = state else { return }
            if !connection.isConnected { return fail(.connectionLost) }
        }
        loop.callAgain(self)
    }

    private func handle(_ message: BusMessage) {
        switch message.kind {
        // The bus lets only those reply that were called.
        case .reply(let serial): complete(serial, .success(message.values))
        case .error(let serial, let name): complete(serial, .failure(.refused(name)))
        case .signal: signal(message)
        case .call: break
        }
    }

    private func complete(_ serial: UInt32, _ result: Result<[BusValue], BusFailure>) {
        guard let call = calls.removeValue(forKey: serial) else { return }
        armTimer()
        call.completion(result)
    }

    // MARK: The end

    private func fail(_ failure: BusFailure) {
        if case .ended = state { return }
        end(failure)
        failWaitingCalls(failure)
        ended(failure)
    }

    private func failWaitingCalls(_ failure: BusFailure) {
        let pending = Array(calls.values) + waitingCalls.map(\.pending)
        calls = [:]
        waitingCalls = []
        for call in pending { call.completion(.failure(failure)) }
    }

    private func end(_ failure: BusFailure) {
        let state = state
        self.state = .ended(failure)
        opening?.abandon()
        opening = nil
        loop.disarm(timer)
        guard case .open(let connection, let descriptor, let registration) = state else { return }
        loop.unregister(descriptor, registration)
        Glibc.close(descriptor)
        connection.close()
    }
}

extension BusCall {
    /// A call of the bus itself.
    package static func toBus(_ method: String, _ arguments: BusArgument...) -> BusCall {
        BusCall(
            destination: BusClient.busName, path: "/org/freedesktop/DBus", interface: BusClient.busName,
            method: method, arguments: arguments)
    }
}
