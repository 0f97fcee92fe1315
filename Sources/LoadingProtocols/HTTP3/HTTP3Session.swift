internal import CLoadingHTTP3
internal import LoadingSemantics

/// The client's side of one HTTP/3 connection (RFC 9114) on QUIC (RFC 9000), over nghttp3 and ngtcp2.
///
/// It owns no socket, reads no clock and has no thread. Datagrams go in by `receive(_:ecn:at:)` and come out of
/// `nextOutput(at:)`; times are nanoseconds of one clock and come with the calls; the observer receives the events of
/// the streams. The session is confined to its owner's thread.
///
/// The owner's loop: after any call, `nextOutput` until it returns nil; then wait for a datagram or for `deadline`.
///
/// GnuTLS verifies no certificate. When the handshake is complete the chain is reported. No request is sent before
/// `trust()`, except early data of a resumed session.
///
/// No access to a stored property lasts while the observer is called, so exclusive access need not be checked.
package final class HTTP3Session: HTTPStreamSession {
    /// Whether this build has HTTP/3: the package trait `HTTP3`. Its libraries may be missing on the machine
    /// nevertheless.
    package static let isAvailable = cl3_is_available()

    let configuration: HTTP3Configuration
    /// The connection, which owns this object and so exists during each call. Not a weak reference, because with one
    /// each retain of the connection would take longer.
    private unowned let owner: any HTTP3SessionObserver
    /// The observer, during a call.
    @exclusivity(unchecked) private(set) var observer: (any HTTP3SessionObserver)?

    /// nil if it could not be made. Freed with this object, which never happens during a call.
    private(set) var session: OpaquePointer?
    @exclusivity(unchecked) private(set) var isBusy = false
    /// `fail()` was called by the observer.
    @exclusivity(unchecked) var failsAfterwards = false
    /// `reject(alert:)` was called by the observer.
    @exclusivity(unchecked) private var rejectsAfterwards: UInt8?
    /// Once set, nothing is sent, received or reported, except `closeDatagram` and the events of `fail()`.
    @exclusivity(unchecked) var error: HTTP3Error?
    @exclusivity(unchecked) var isErrorThrown = false
    /// The time of the last call.
    @exclusivity(unchecked) var now: Int64

    // Input.
    @exclusivity(unchecked) var budget = HTTP3DatagramBudget()
    @exclusivity(unchecked) var unread = UnreadContent()
    /// Received bytes for which the connection's window was not opened again.
    @exclusivity(unchecked) var unreturned = 0
    @exclusivity(unchecked) var growth: StreamWindowGrowth
    /// The stream that is being reported as closed, and its received bytes.
    @exclusivity(unchecked) var closing = (number: Int64(-1), length: 0)
    /// When a datagram with an authenticated packet was last received. Other datagrams do not show that the server is
    /// alive: they can be forged, and a server that was restarted answers with a stateless reset that does not match.
    @exclusivity(unchecked) package internal(set) var lastAuthenticated = Int64.min

    // Output.
    /// Something was called that may have led to output.
    @exclusivity(unchecked) var mayHaveOutput = true
    /// The datagram with the CONNECTION_CLOSE. The memory belongs to the C session.
    @exclusivity(unchecked) var closeDatagram = UnsafeRawBufferPointer(start: nil, count: 0)
    @exclusivity(unchecked) private var keepAlive: Int64 = 0
    @exclusivity(unchecked) var isPingWanted = false
    @exclusivity(unchecked) var isPingOut = false

    // The streams.
    @exclusivity(unchecked) var streams: [HTTP3Stream] = []
    @exclusivity(unchecked) var freeSlots: [Int] = []
    @exclusivity(unchecked) var slots: [Int64: Int] = [:]
    /// Streams whose end was not reported yet.
    @exclusivity(unchecked) var ending: [Int64] = []
    @exclusivity(unchecked) var encoder = HTTPStreamRequestEncoder()

    // The connection.
    package private(set) var isHandshakeComplete = false
    private var isTrusted = false
    private var isPeerLeaving = false
    private var isLeaving = false

    /// - Parameters:
    ///   - serverName: nil for an address, which is not sent to the server (SNI).
    ///   - allowsEarlyData: Whether anything may go out before the handshake is through, if the session that goes on
    ///     allows it.
    package init(
        configuration: HTTP3Configuration = HTTP3Configuration(), serverName: String?, endpoints: HTTP3Endpoints,
        resumption: HTTP3Resumption? = nil, allowsEarlyData: Bool = false, identity: HTTP3Identity? = nil,
        at now: Int64, observer: any HTTP3SessionObserver
    ) {
        self.configuration = configuration
        self.now = now
        growth = StreamWindowGrowth(configuration.windows)
        owner = observer
        var callbacks = HTTP3Session.callbacks(of: configuration)
        var limits = cl3_limits(configuration)
        var result = CL3_OUT_OF_MEMORY
        let context = Unmanaged.passUnretained(self).toOpaque()
        begin()
        endpoints.withForm { endpoints in
            cl3_bytes.with(resumption?.ticket ?? []) { ticket in
                cl3_bytes.with(resumption?.transportParameters ?? []) { parameters in
                    withOptionalCString(serverName) { name in
                        cl3_bytes.with(identity) { chain, key, reader in
                            var opening = cl3_opening(
                                endpoints: endpoints, server_name: name, ticket: ticket, parameters: parameters,
                                allows_early_data: allowsEarlyData && resumption?.hasEarlyData == true,
                                identity: chain.baseAddress, identity_count: chain.count, identity_key: key,
                                identity_reader: reader,
                                now: UInt64(max(now, 0)))
                            session = cl3_new(&callbacks, context, &limits, &opening, &result)
                        }
                    }
                }
            }
        }
        end()
        guard session == nil else { return }
        switch result {
        case CL3_UNAVAILABLE: error = .unavailable(Self.libraryFailure)
        case CL3_IDENTITY: error = .unusableIdentity
        default: error = .outOfMemory
        }
    }

    /// HTTP/3 without QUIC: the caller feeds the streams.
    init(
        looseWith configuration: HTTP3Configuration, streams: Int, observer: any HTTP3SessionObserver
    ) {
        self.configuration = configuration
        growth = StreamWindowGrowth(configuration.windows)
        now = 0
        owner = observer
        isHandshakeComplete = true
        isTrusted = true
        var callbacks = HTTP3Session.callbacks(of: configuration)
        var limits = cl3_limits(configuration)
        var result = CL3_OUT_OF_MEMORY
        let context = Unmanaged.passUnretained(self).toOpaque()
        session = cl3_new_loose(&callbacks, context, &limits, UInt64(max(streams, 0)), &result)
        if session == nil { error = result == CL3_UNAVAILABLE ? .unavailable(Self.libraryFailure) : .outOfMemory }
    }

    deinit {
        // A connection that was not closed is dropped without a message: the peer's idle timeout ends it.
        if let session { cl3_free(session) }
    }

    /// The loader's message about the missing library. Empty if the library was installed meanwhile.
    private static var libraryFailure: String { cl3_library_failure().map { String(cString: $0) } ?? "" }

    /// The C session, if it has not failed.
    var usable: OpaquePointer? { error == nil ? session : nil }

    /// Between this call and `end()` the observer is called, and may call back.
    func begin() {
        isBusy = true
        observer = owner
    }

    func end() {
        reportEnds()
        observer = nil
        isBusy = false
        if let alert = rejectsAfterwards {
            rejectsAfterwards = nil
            reject(alert: alert)
        }
        if failsAfterwards {
            failsAfterwards = false
            fail()
        }
        adaptKeepAlive()
    }

    // MARK: State

    package var maximumConcurrentStreams: Int { openStreamCount + streamsLeft }
    package var openStreamCount: Int { slots.count }
    package var allowsExtendedConnect: Bool { usable.map { cl3_peer_allows_connect_protocol($0) } ?? false }
    /// The peer or this side has sent GOAWAY.
    package var isGoingAway: Bool { isPeerLeaving || isLeaving }
    package var isFull: Bool { unread.count > configuration.windows.maximumUnread }
    package var mayOpenStream: Bool { allowsRequests(isEarly: false) && streamsLeft > 0 }
    /// The same for a request that may be early data.
    package var mayOpenEarlyStream: Bool { allowsRequests(isEarly: true) && streamsLeft > 0 }
    /// The observer has ended the connection.
    var isEnding: Bool { failsAfterwards || rejectsAfterwards != nil }
    /// Whether `nextOutput(at:)` may have output, or an error.
    package var wantsOutput: Bool {
        guard usable != nil else { return !closeDatagram.isEmpty || (error != nil && !isErrorThrown) }
        return mayHaveOutput || !ending.isEmpty
    }
    /// Nothing is left to send or receive: the connection can be closed.
    package var isFinished: Bool {
        if usable == nil { return closeDatagram.isEmpty }
        return isGoingAway && openStreamCount == 0 && !wantsOutput
    }
    /// The handshake is complete, and `trust()` was not called yet.
    package var needsTrust: Bool { isHandshakeComplete && !isTrusted }
    /// Whether the server has confirmed the handshake (RFC 9001 §4.1.2).
    package var isHandshakeConfirmed: Bool { session.map { cl3_is_handshake_confirmed($0) } ?? false }
    /// Whether the completed handshake has resumed a session, so that the server has presented no certificate.
    package var isResumed: Bool { isHandshakeComplete && session.map { cl3_is_resumed($0) } ?? false }
    /// Whether the server has requested a client certificate.
    package var isIdentityRequested: Bool { session.map { cl3_is_certificate_wanted($0) } ?? false }
    /// The names of the accepted issuers, in DER. Empty: the server does not restrict them.
    package var issuers: [[UInt8]] {
        guard let session else { return [] }
        var rest = [UInt8](cl3_issuers(session))[...]
        var names: [[UInt8]] = []
        while rest.count >= 2 {
            let length = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            names.append([UInt8](rest.dropFirst(2).prefix(length)))
            rest = rest.dropFirst(2 + length)
        }
        return names
    }
    /// The stapled OCSP response.
    package var stapledResponse: [UInt8]? {
        guard let session else { return nil }
        let response = [UInt8](cl3_stapled_response(session))
        return response.isEmpty ? nil : response
    }
    /// When `handleDeadline(at:)` is to be called.
    package var deadline: Int64? {
        guard let session = usable else { return nil }
        let expiry = cl3_expiry(session)
        return expiry == UInt64.max ? nil : Int64(clamping: expiry)
    }
    /// Received bytes of a stream's response, without the heads; until `closed` returns.
    package func receivedBodyFrameBytes(on stream: Int64) -> Int {
        guard let slot = slots[stream] else { return closing.number == stream ? closing.length : 0 }
        return max(cl3_received(streams[slot].handle) - streams[slot].headLength, 0)
    }

    /// Bytes of a stream's request body that were sent and are not acknowledged.
    package func unacknowledgedBodyBytes(on stream: Int64) -> Int {
        guard let slot = slots[stream] else { return 0 }
        return cl3_unacknowledged(streams[slot].handle)
    }

    private var streamsLeft: Int { usable.map { Int(clamping: cl3_streams_left($0)) } ?? 0 }

    func allowsRequests(isEarly: Bool) -> Bool {
        guard let session = usable, !isGoingAway, !failsAfterwards else { return false }
        if isHandshakeComplete { return isTrusted }
        return isEarly && cl3_offers_early_data(session)
    }

    // MARK: The connection

    /// The server's certificate is trusted: requests may be sent.
    package func trust() {
        guard isHandshakeComplete else { return }
        isTrusted = true
        if !isBusy { adaptKeepAlive() }
    }

    /// Ends the connection with a TLS alert. `nextOutput(at:)` returns the CONNECTION_CLOSE.
    package func reject(alert: UInt8) {
        if isBusy {
            rejectsAfterwards = alert
        } else {
            close(CL3_CODE_ALERT, UInt64(alert))
        }
    }

    /// Closes the connection, and returns the datagram with the CONNECTION_CLOSE; empty if none is needed.
    package func close(at now: Int64) -> [UInt8] {
        if isBusy { return [] }
        self.now = now
        close(CL3_CODE_APPLICATION, HTTP3ErrorCode.noError.rawValue)
        defer { dropCloseDatagram() }
        return [UInt8](closeDatagram)
    }

    private func close(_ kind: cl3_code_kind, _ code: UInt64) {
        guard let session = usable else { return }
        cl3_close(session, kind, code, UInt64(max(now, 0)))
        keepCloseDatagram(session)
        error = .closed
        isErrorThrown = true
    }

    func keepCloseDatagram(_ session: OpaquePointer) {
        let datagram = cl3_close_datagram(session)
        closeDatagram = UnsafeRawBufferPointer(start: datagram.start, count: datagram.count)
    }

    func dropCloseDatagram() { closeDatagram = UnsafeRawBufferPointer(start: nil, count: 0) }

    /// Sends a PING. `receivedPingAnswer` reports the answer.
    package func ping() {
        guard let session = usable else { return }
        isPingWanted = true
        mayHaveOutput = true
        budget.addPing()
        cl3_ping(session)
    }

    /// Migrates the connection to another path. False if it cannot migrate, so it has to end.
    package func endpointsChanged(to endpoints: HTTP3Endpoints, at now: Int64) -> Bool {
        guard let session = usable, !isBusy else { return false }
        self.now = now
        mayHaveOutput = true
        return endpoints.withForm { endpoints in
            var endpoints = endpoints
            return cl3_migrate(session, &endpoints, UInt64(max(now, 0)))
        }
    }

    /// Starts a key update. False if it is too early.
    package func updateKeys(at now: Int64) -> Bool {
        guard let session = usable, !isBusy else { return false }
        mayHaveOutput = true
        return cl3_update_keys(session, UInt64(max(now, 0)))
    }

    package func goAway() {
        guard let session = usable, !isLeaving else { return }
        isLeaving = true
        mayHaveOutput = true
        cl3_go_away(session)
    }

    package func fail() {
        if isBusy {
            failsAfterwards = true
            return
        }
        error = error ?? .closed
        isErrorThrown = true
        dropCloseDatagram()
        isBusy = true
        observer = owner
        for (number, slot) in slots.sorted(by: { $0.key < $1.key }) {
            let stream = streams[slot]
            let lost = HTTPStreamFailure.connectionLost(after: stream.progress)
            let failure = stream.hasEnded ? stream.failure : stream.failure ?? lost
            noteLength(on: slot)
            release(slot)
            observer?.closed(number, with: failure)
        }
        ending = []
        observer = nil
        isBusy = false
        // The session has ended, so calls of the observer have no effect.
        failsAfterwards = false
        rejectsAfterwards = nil
    }

    /// After how many nanoseconds without a packet the server forgets the connection; nil if it has not said that.
    package var peerIdleTimeout: Int64? {
        guard let session = usable else { return nil }
        let timeout = cl3_peer_idle_timeout(session)
        return timeout == 0 ? nil : Int64(clamping: timeout)
    }

    /// Sends PINGs while requests or `trust()` are pending.
    func adaptKeepAlive() {
        guard let session = usable else { return }
        let wanted = needsTrust || openStreamCount > 0 ? configuration.keepAliveInterval : 0
        if wanted == keepAlive { return }
        keepAlive = wanted
        cl3_set_keep_alive(session, UInt64(wanted))
        mayHaveOutput = true
    }

    func handshakeCompleted(with chain: [[UInt8]], cipherSuite: UInt16) {
        isHandshakeComplete = true
        observer?.received(certificates: chain, cipherSuite: cipherSuite)
        observer?.handshakeCompleted()
    }

    func received(_ resumption: HTTP3Resumption) {
        if error == nil { observer?.received(resumption) }
    }

    func peerAllowsMoreStreams() {
        if error == nil { observer?.peerSettingsChanged() }
    }

    func peerIsLeaving(before firstRefused: Int64) {
        isPeerLeaving = true
        if error != nil { return }
        observer?.peerIsGoingAway(lastStream: firstRefused - 4)
        for (number, slot) in slots.sorted(by: { $0.key < $1.key }) where number >= firstRefused {
            // Like a rejection, but a request that has an answer was processed.
            end(slot, streams[slot].reset(.requestRejected), code: .requestCancelled)
        }
    }
}

extension HTTP3Endpoints {
    fileprivate func withForm<Result>(_ body: (cl3_endpoints) -> Result) -> Result {
        local.withUnsafeBytes { local in
            remote.withUnsafeBytes { remote in
                body(
                    cl3_endpoints(
                        local: local.baseAddress, local_length: local.count, remote: remote.baseAddress,
                        remote_length: remote.count))
            }
        }
    }
}

extension cl3_bytes {
    /// C only reads the bytes.
    fileprivate static func with<Result>(_ bytes: [UInt8], _ body: (cl3_bytes) -> Result) -> Result {
        bytes.withUnsafeBufferPointer { bytes in
            body(cl3_bytes(start: UnsafeMutablePointer(mutating: bytes.baseAddress), count: bytes.count))
        }
    }
}

extension cl3_bytes {
    /// C only reads the bytes.
    fileprivate static func with<Result>(
        _ identity: HTTP3Identity?, _ body: (UnsafeBufferPointer<cl3_bytes>, cl3_bytes, cl3_bytes) -> Result
    ) -> Result {
        let chain = identity?.chain ?? []
        // Concatenated, so that one pointer is valid for all.
        return with(chain.flatMap(\.self)) { all in
            with(identity?.key ?? []) { key in
                var next = all.start
                let parts = chain.map { certificate in
                    defer { next = next?.advanced(by: certificate.count) }
                    return cl3_bytes(start: next, count: certificate.count)
                }
                return parts.withUnsafeBufferPointer { parts in
                    with(identity?.reader ?? []) { body(parts, key, $0) }
                }
            }
        }
    }
}

private func withOptionalCString<Result>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> Result) -> Result {
    guard let text else { return body(nil) }
    return text.withCString(body)
}

/// Receives the events of a session. It may also call `trust()` and `reject(alert:)` meanwhile.
package protocol HTTP3SessionObserver: HTTPStreamObserver {
    /// No request can be submitted any more. Streams above `lastStream` are reported as refused next; -4 means all.
    func peerIsGoingAway(lastStream: Int64)
    /// The peer has answered since `ping()`.
    func receivedPingAnswer()

    /// The server's certificates in DER, its own first; those of the first handshake when a session was resumed.
    /// Answered by `trust()` or `reject(alert:)`, now or later. Told once, before `handshakeCompleted`.
    func received(certificates chain: [[UInt8]], cipherSuite: UInt16)
    func handshakeCompleted()
    /// A ticket for the next connection. There may be several; each is used once.
    func received(_ resumption: HTTP3Resumption)
}
