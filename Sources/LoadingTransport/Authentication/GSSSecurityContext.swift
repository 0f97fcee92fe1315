internal import CLoadingGSSAPI
internal import LoadingEvents

/// A GSSAPI security context that authenticates a connection, with Kerberos or NTLM.
///
/// A step may wait for a key distribution centre, so it runs between two turns while the loop is lent, like a callback.
/// One step at a time. Results are reported on the loop.
package final class GSSSecurityContext: Callout, @unchecked Sendable {
    // Sendable because `order` is guarded by `lock`, `conversation` belongs to the one thread that runs a step, and the
    // rest is constant or belongs to the loop.

    package enum Mechanism: Sendable {
        case negotiate
        case ntlm
    }

    package enum Outcome: Sendable, Equatable {
        /// A token for the peer, and whether the peer must answer.
        case token([UInt8], continues: Bool)
        /// The context is established, without another token for the peer.
        case complete
        /// There are no credentials, or the peer rejected them.
        case failed
        /// The mechanism is not available.
        case unsupported
    }

    private struct Operation {
        var token: [UInt8]
        var then: LoopBox<(Outcome) -> Void>
    }

    private let mechanism: Mechanism
    private let host: String
    private let user: (name: String, password: String)?
    /// Nil without TLS, or if there is none to its certificate.
    package let channelBinding: ChannelBinding?
    private let loop: EventLoop

    private let lock = Lock()
    private var operation: Operation?

    /// Confined to the thread that runs the step.
    private var conversation: OpaquePointer?

    /// Whether no token of the peer is expected. Confined to the loop.
    package private(set) var isComplete = false
    /// The number of tokens processed. Confined to the loop.
    package private(set) var steps = 0

    /// - Parameters:
    ///   - user: Nil for the Kerberos ticket of the system.
    ///   - channelBinding: Binds the authentication to a TLS connection.
    package init(
        _ mechanism: Mechanism, with host: String, as user: (name: String, password: String)?,
        boundTo channelBinding: ChannelBinding?, on loop: EventLoop
    ) {
        self.mechanism = mechanism
        self.host = host
        self.user = user
        self.channelBinding = channelBinding
        self.loop = loop
    }

    /// Whether the NTLM mechanism is available. The first call loads libraries.
    package static var knowsNTLM: Bool { clg_is_supported(CLG_NTLM) }

    deinit {
        if let conversation { clg_end(conversation) }
    }

    /// Processes the peer's token, which is empty at first. Calls `then` on the loop, asynchronously, once.
    package func next(_ token: [UInt8] = [], then: @escaping (Outcome) -> Void) {
        loop.checkConfinement(of: "A security conversation")
        steps += 1
        let then = LoopBox(then)
        lock.withLock { operation = Operation(token: token, then: then) }
        loop.callOut(self)
    }

    package func callOut() {
        let operation = lock.withLock { () -> Operation? in
            defer { self.operation = nil }
            return self.operation
        }
        guard let operation else { return }
        let outcome = step(operation.token)
        let then = operation.then
        loop.post { [self] in
            if case .token(_, continues: true) = outcome { isComplete = false } else { isComplete = true }
            then.value(outcome)
        }
    }

    /// Verifies the peer's final token, which authenticates the peer.
    ///
    /// Must not be called during a step. This step does not wait.
    package func verifies(_ token: [UInt8]) -> Bool {
        switch step(token) {
        case .token, .complete: true
        case .failed, .unsupported: false
        }
    }

    private func begin(_ mechanism: clg_mechanism) -> OpaquePointer? {
        guard let conversation = clg_begin(mechanism, host) else { return nil }
        if let data = channelBinding?.applicationData, !clg_bind(conversation, data, data.count) {
            clg_end(conversation)
            return nil
        }
        if let user {
            // C strings end at NUL.
            let isText = !user.name.utf8.contains(0) && !user.password.utf8.contains(0)
            if isText, clg_use_password(conversation, user.name, user.password) { return conversation }
        } else if clg_use_ticket(conversation) {
            return conversation
        }
        // The step must not use default credentials of another user.
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
