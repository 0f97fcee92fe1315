internal import CLoadingTLS

/// The client side of a TLS connection, over a non-blocking socket that it does not own, or over another TLS
/// connection.
///
/// Call `handshake` until it completes or fails, each time after the event it returned; then call `read` and `write`.
/// Nothing blocks. Used by one thread at a time. Exclusive access to what each read uses is not checked.
package final class TLSStream {
    private let pointer: OpaquePointer
    private let context: TLSContext
    /// The TLS connection below this one, in place of the socket.
    private let lower: TLSStream?
    private let serverName: String
    private var identity: TLSIdentity?
    /// The stapled response of the session that was offered for resumption.
    private let offeredResponse: [UInt8]?
    private var isComplete = false
    /// The error of a rejection, which replaces OpenSSL's.
    private var rejection: TLSError?
    /// The evaluator to consult if a stapled OCSP response arrives after the decision.
    private var conditionalTrust: (evaluator: TrustEvaluator, time: Int64)?
    /// The result that ended reading. OpenSSL reports the cause only once.
    @exclusivity(unchecked) private var ending: TLSReadResult?

    /// Whether the default evaluation trusts the server. Set by the code that evaluates.
    @exclusivity(unchecked) package var isTrusted = false

    /// Receives each resumable session, with this stream, during `handshake` and `read`. The stream is an argument
    /// because a weak reference to it would make each other use of it slower.
    @exclusivity(unchecked) package var onResumption: ((TLSResumption, TLSStream) -> Void)?

    /// `serverName` is the host of the URL: a name in ASCII, or an IP address. A session of another host or context is
    /// ignored. `lower` must have completed its handshake, and must not be used by others from now on.
    package init(
        context: TLSContext, descriptor: Int32, over lower: TLSStream? = nil, serverName: String,
        resuming resumption: TLSResumption? = nil
    ) throws(TLSError) {
        guard let host = ServerName(host: serverName) else {
            throw TLSError(code: TLSError.secureConnectionFailed, reason: "invalid server name")
        }
        let session =
            if let resumption, resumption.serverName == serverName, resumption.context === context { resumption } else {
                nil as TLSResumption?
            }
        var failure = clt_failure()
        let pointer = clt_stream_new(
            context.pointer, descriptor, lower?.pointer, host.indication, session?.pointer, &failure)
        guard let pointer else { throw TLSError(failure) }
        self.pointer = pointer
        self.context = context
        self.lower = lower
        self.serverName = serverName
        identity = session?.identity
        offeredResponse = session?.stapledResponse
    }

    deinit { clt_stream_free(pointer) }

    /// Restricts what the handshake negotiates, beyond the configuration. Must be called before the handshake. Returns
    /// false on failure.
    package func restrict(minimumVersion: TLSVersion?, needsForwardSecrecy: Bool) -> Bool {
        let minimum = minimumVersion.map { max($0, context.configuration.minimumVersion) }
        return clt_stream_restrict(pointer, minimum?.rawValue ?? 0, needsForwardSecrecy)
    }

    /// Offers these protocols in place of the configuration's. Must be called before the handshake. Returns false on
    /// failure.
    package func offer(_ applicationProtocols: [String]) -> Bool {
        guard let protocols = TLSConfiguration.encoded(applicationProtocols) else { return false }
        return clt_stream_offer(pointer, protocols, protocols.count)
    }

    // MARK: Handshake

    /// One step of the handshake. After completion, read before waiting for readiness, because data may have arrived
    /// together with the last handshake message.
    package func handshake() -> TLSHandshakeStep {
        if case .failed(let error)? = ending { return .failed(error) }
        if isComplete { return .complete }
        switch clt_handshake(pointer) {
        case CLT_DONE:
            if let error = lateRevocation() { return failHandshake(error) }
            isComplete = true
            deliverResumptions()
            return .complete
        case CLT_WANT_READ: return .wantsRead
        case CLT_WANT_WRITE: return .wantsWrite
        case CLT_WANT_TRUST:
            guard let peer else {
                return failHandshake(TLSError(code: TLSError.secureConnectionFailed, reason: "no peer certificate"))
            }
            return .wantsTrust(peer)
        case CLT_WANT_IDENTITY: return .wantsIdentity(identityRequest)
        case CLT_CLOSED, CLT_ENDED: return failHandshake(.endOfStream(clt_stream_failure(pointer)))
        default: return failHandshake(rejection ?? connectionError)
        }
    }

    private func failHandshake(_ error: TLSError) -> TLSHandshakeStep {
        ending = .failed(error)
        return .failed(error)
    }

    /// The peer's certificates and stapled response; for a resumed session, those of its first handshake.
    package var peer: TLSPeer? {
        guard let chain = clt_stream_peer_chain(pointer) else { return nil }
        return TLSPeer(
            serverName: serverName, chain: CertificateChain(owning: chain), stapledResponse: stapledResponse)
    }

    /// The stapled OCSP response; for a resumed session, that of its first handshake. Before TLS 1.3 it arrives only
    /// after the server's certificates.
    package var stapledResponse: [UInt8]? {
        var count = 0
        guard let bytes = clt_stream_stapled_response(pointer, &count) else { return isResumed ? offeredResponse : nil }
        return Array(UnsafeBufferPointer(start: bytes, count: count))
    }

    /// Answers `wantsTrust`, once. Then call `handshake` again.
    package func decideTrust(_ verdict: TLSTrustVerdict) {
        switch verdict {
        case .accept:
            _ = clt_decide_trust(pointer, true, 0)
        case .acceptUnlessRevoked(let evaluator, let time):
            if clt_decide_trust(pointer, true, 0), stapledResponse == nil { conditionalTrust = (evaluator, time) }
        case .reject(let error):
            if clt_decide_trust(pointer, false, error.verifyCode) { rejection = error }
        }
    }

    private func lateRevocation() -> TLSError? {
        guard let trust = conditionalTrust else { return nil }
        conditionalTrust = nil
        guard stapledResponse != nil, let peer,
            case .rejected(let error) = trust.evaluator.evaluate(peer, at: trust.time)
        else { return nil }
        return error
    }

    /// Answers `wantsIdentity`, once; nil continues without a certificate. Then call `handshake` or `read` again.
    package func provideIdentity(_ identity: TLSIdentity?) {
        if clt_provide_identity(pointer, identity?.pointer) { self.identity = identity }
    }

    private var identityRequest: TLSIdentityRequest {
        let names = (0..<clt_stream_issuer_count(pointer)).compactMap { index -> [UInt8]? in
            var count = 0
            guard let bytes = clt_stream_issuer(pointer, index, &count) else { return nil }
            return Array(UnsafeBufferPointer(start: bytes, count: count))
        }
        let schemes = [UInt16](unsafeUninitializedCapacity: 64) { schemes, count in
            count = clt_stream_signature_schemes(pointer, schemes.baseAddress, schemes.count)
        }
        return TLSIdentityRequest(serverName: serverName, distinguishedNames: names, signatureSchemes: schemes)
    }

    /// Whether the server has requested a certificate.
    package var isIdentityRequested: Bool { clt_stream_identity_requested(pointer) }

    /// Whether the handshake resumed a session.
    package var isResumed: Bool { clt_stream_is_resumed(pointer) }

    private var clientCertificate: ClientCertificateState {
        if !clt_stream_identity_requested(pointer) { return .notRequested }
        if clt_stream_identity_refused(pointer) { return .unusable }
        return clt_stream_identity_provided(pointer) ? .provided : .notProvided
    }

    private var connectionError: TLSError {
        .connection(clt_stream_failure(pointer), clientCertificate: clientCertificate)
    }

    private func deliverResumptions() {
        while let session = clt_stream_take_session(pointer) {
            let resumption = TLSResumption(
                owning: session, context: context, serverName: serverName, identity: identity,
                stapledResponse: stapledResponse)
            onResumption?(resumption, self)
        }
    }

    // MARK: Data

    /// Reads available bytes.
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> TLSReadResult {
        if let ending { return ending }
        var count = 0
        let step = clt_read(pointer, buffer.baseAddress, buffer.count, &count)
        deliverResumptions()
        let result: TLSReadResult
        switch step {
        case CLT_DONE: return .bytes(count)
        case CLT_WANT_READ: return count > 0 ? .bytes(count) : .wouldBlock
        case CLT_WANT_WRITE: return count > 0 ? .bytes(count) : .wantsWrite
        case CLT_WANT_IDENTITY: return count > 0 ? .bytes(count) : .wantsIdentity(identityRequest)
        case CLT_CLOSED: result = .end
        case CLT_ENDED: result = .truncated
        default: result = .failed(connectionError)
        }
        ending = result
        return count > 0 ? .bytes(count) : result
    }

    /// Whether the record buffers are kept between records, which saves time for each and costs 33 KB (with OpenSSL 3.2
    /// or later half of that, since the buffer for writing is not kept). Not at first.
    package func keepBuffers(_ keeps: Bool) {
        clt_stream_keep_buffers(pointer, keeps)
        lower?.keepBuffers(keeps)
    }

    /// Whether the last read emptied the socket. With edge-triggered readiness, another read is then unnecessary before
    /// waiting, unless the peer is known to have hung up: an end that arrived with the last bytes causes no further
    /// edge.
    package var isDrained: Bool { clt_stream_is_drained(pointer) }

    /// Writes as many bytes as the socket accepts. After a failure, read to the end: the peer may have sent a response
    /// or an alert before it closed.
    package func write(_ bytes: UnsafeRawBufferPointer) -> TLSWriteResult {
        if case .failed(let error)? = ending { return .failed(error) }
        var count = 0
        let step = clt_write(pointer, bytes.baseAddress, bytes.count, &count)
        if count > 0 { return .bytes(count) }
        switch step {
        case CLT_DONE: return .bytes(0)
        case CLT_WANT_WRITE: return .wouldBlock
        // `read` must process the server's request for a certificate first.
        case CLT_WANT_READ, CLT_WANT_IDENTITY: return .wantsRead
        default: return .failed(connectionError)
        }
    }

    /// Sends close_notify. Returns false if the socket has no space; call it again when it is writable. Reading remains
    /// possible.
    package func shutdown() -> Bool {
        guard !isComplete || clt_shutdown(pointer) else { return false }
        return lower?.shutdown() ?? true
    }

    /// The negotiated version and cipher suite. Valid after the handshake.
    package var version: TLSVersion { TLSVersion(rawValue: clt_stream_version(pointer)) }
    package var cipherSuite: UInt16 { clt_stream_cipher(pointer) }

    /// All negotiated parameters. Valid after the handshake. Copies the certificates.
    package var session: TLSSessionFacts {
        var count = 0
        let name = clt_stream_protocol(pointer, &count)
        return TLSSessionFacts(
            version: version, cipherSuite: cipherSuite,
            applicationProtocol: name.map {
                String(decoding: UnsafeBufferPointer(start: $0, count: count), as: UTF8.self)
            },
            isResumed: clt_stream_is_resumed(pointer),
            peerCertificates: clt_stream_peer_chain(pointer).map { CertificateChain(owning: $0).der } ?? [])
    }
}
