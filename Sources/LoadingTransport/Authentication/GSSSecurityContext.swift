internal import CLoadingGSSAPI
internal import LoadingEvents

/// A conversation by which a connection is proved to be a user's: Kerberos or NTLM, by the system's GSSAPI.
///
/// Each step may wait for a key distribution centre, so it is made between two turns with the loop lent, like a
/// callback. One step at a time; what came of it is told on the loop.
package final class GSSSecurityContext: Callout, @unchecked Sendable {
    // Sendable because the orders are guarded by `lock`, `conversation` belongs to the one thread at a time that carries
    // out a step, and the rest never changes or belongs to the loop.

    package enum Mechanism: Sendable {
        case negotiate
        case ntlm
    }

    package enum Outcome: Sendable, Equatable {
        /// For the peer. Whether it has to say something to that.
        case token([UInt8], continues: Bool)
        /// The peer has been heard and needs nothing more.
        case complete
        /// Nobody knows who the user is, or it was not believed.
        case failed
        /// There is no library for that.
        case unsupported
    }

    private struct Order {
        var token: [UInt8]
        var then: LoopBox<(Outcome) -> Void>
    }

    private let mechanism: Mechanism
    private let host: String
    private let user: (name: String, password: String)?
    private let loop: EventLoop

    private let lock = Lock()
    private var order: Order?

    /// Of who carries out the step.
    private var conversation: OpaquePointer?

    /// Whether the peer has to say something yet. Of the loop.
    package private(set) var isComplete = false
    /// How often the peer was answered. Of the loop.
    package private(set) var steps = 0

    /// - Parameter user: Nil for the one whom the system knows by a ticket, which is Kerberos then in any case.
    package init(
        _ mechanism: Mechanism, with host: String, as user: (name: String, password: String)?, on loop: EventLoop
    ) {
        self.mechanism = mechanism
        self.host = host
        self.user = user
        self.loop = loop
    }

    /// Whether there is a library for NTLM. May take a moment, the first time.
    package static var knowsNTLM: Bool { clg_is_supported(CLG_NTLM) }

    deinit {
        if let conversation { clg_end(conversation) }
    }

    /// Takes the peer's token, an empty one at first. `then` is called on the loop, once and later.
    package func next(_ token: [UInt8] = [], then: @escaping (Outcome) -> Void) {
        loop.checkConfinement(of: "A security conversation")
        steps += 1
        let then = LoopBox(then)
        lock.withLock { order = Order(token: token, then: then) }
        loop.callOut(self)
    }

    package func callOut() {
        let order = lock.withLock { () -> Order? in
            defer { self.order = nil }
            return self.order
        }
        guard let order else { return }
        let outcome = step(order.token)
        let then = order.then
        loop.post { [self] in
            if case .token(_, continues: true) = outcome { isComplete = false } else { isComplete = true }
            then.value(outcome)
        }
    }

    /// The peer's last token, which proves it to be who it says. Whether that is so.
    ///
    /// No step is under way. The last one of a conversation waits for nothing.
    package func verifies(_ token: [UInt8]) -> Bool {
        switch step(token) {
        case .token, .complete: true
        case .failed, .unsupported: false
        }
    }

    private func begin(_ mechanism: clg_mechanism) -> OpaquePointer? {
        guard let conversation = clg_begin(mechanism, host) else { return nil }
        if let user {
            // C's texts end with a zero.
            let isText = !user.name.utf8.contains(0) && !user.password.utf8.contains(0)
            if isText, clg_use_password(conversation, user.name, user.password) { return conversation }
        } else if clg_use_ticket(conversation) {
            return conversation
        }
        // Never as somebody else.
        clg_end(conversation)
        return nil
    }

    private func step(_ token: [UInt8]) -> Outcome {
        let mechanism = mechanism == .ntlm ? CLG_NTLM : CLG_NEGOTIATE
        guard clg_is_supported(mechanism) else { return .unsupported }
        if conversation == nil { conversation = begin(mechanism) }
        guard let conversation else { return .failed }
        var output: UnsafePointer<UInt8>?
        var count = 0
        let outcome = token.withUnsafeBufferPointer {
            clg_step(conversation, $0.baseAddress, $0.count, &output, &count)
        }
        if outcome == CLG_FAILED { return .failed }
        guard let output, count > 0 else { return outcome == CLG_COMPLETE ? .complete : .failed }
        return .token(
            Array(UnsafeBufferPointer(start: output, count: count)), continues: outcome == CLG_CONTINUES)
    }
}
