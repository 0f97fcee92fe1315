package import LoadingSemantics

/// What is said to an HTTP proxy until it has made a tunnel (RFC 9110 §9.3.6). Owns no socket and no clock.
///
/// The caller's loop: `request`, then with each read `next` until it gives nil; when the proxy ends the connection,
/// `connectionEnded`. What is left of the input after `.open` comes through the tunnel. After a challenge `request` may
/// be called once more: on the same connection if `.challengeEnded` allows it and no input is left, else on a new one.
package struct ConnectTunnel {
    package enum Event: Sendable, Equatable {
        case open(ResponseHead)
        /// The proxy demands authentication (AUTH-28). `.challengeEnded` follows.
        case challenged(ResponseHead)
        /// All of the challenge is read that will be; whether its connection takes another request.
        case challengeEnded(mayReuse: Bool)
        /// Any other status. The response does not come from the server, so its redirect and body are not delivered.
        case refused(ResponseHead)
        case failed(ProxyFailure)
    }

    private enum State {
        case idle
        case response
        /// So many bytes of a challenge may still be read.
        case challenge(Int)
    }

    /// What the request is for.
    package let authority: String
    /// The fields of the last request, as they go out.
    package private(set) var requestFields = HTTPFields()
    private let limits: ConnectTunnelLimits
    private var parser: HTTP1ResponseParser
    private var state = State.idle

    package init(to destination: ProxyDestination, limits: ConnectTunnelLimits = ConnectTunnelLimits()) {
        authority = destination.authority
        self.limits = limits
        parser = HTTP1ResponseParser(limits: limits.response)
    }

    /// The next request. It has nothing that is the server's to know (PROXY-11).
    ///
    /// - Parameters:
    ///   - userAgent: The value of its field, or nil for none.
    ///   - authorization: That of `Proxy-Authorization`.
    package mutating func request(
        userAgent: String? = nil, authorization: String? = nil
    ) throws(HTTP1EncodingError) -> [UInt8] {
        var fields = HTTPFields([("Host", authority)])
        if let authorization { fields.append(ChallengeSource.proxy.credentialField, authorization) }
        if let userAgent { fields.append("User-Agent", userAgent) }
        var bytes: [UInt8] = []
        try HTTP1RequestEncoder.appendHead(
            method: "CONNECT", target: .authority(authority), body: .none, fields: fields, to: &bytes)
        requestFields = fields
        parser.begin(.connect)
        state = .response
        return bytes
    }

    /// The next event from the front of `input`; nil when all of it is used up and more is needed, and when no answer
    /// is awaited.
    package mutating func next(_ input: inout UnsafeRawBufferPointer) -> Event? {
        switch state {
        case .idle: return nil
        case .response: return nextOfResponse(&input)
        case .challenge(let rest): return nextOfChallenge(&input, rest)
        }
    }

    /// The proxy has ended the connection, in whatever way, and all input has been through `next`.
    package mutating func connectionEnded() -> Event? {
        switch state {
        case .idle: nil
        case .response: end(.failed(.tunnelLost))
        case .challenge: end(.challengeEnded(mayReuse: false))
        }
    }

    private mutating func nextOfResponse(_ input: inout UnsafeRawBufferPointer) -> Event? {
        do throws(HTTP1ParseError) {
            while let event = try parser.next(&input) {
                switch event {
                case .informational, .body, .end: continue
                case .switchedProtocol(let head): return end(.open(head))
                case .head(let head, let length):
                    if ChallengeSource(status: head.status) != .proxy { return end(.refused(head)) }
                    state = .challenge(isWorthReading(head, length) ? limits.maximumChallengeLength : -1)
                    return .challenged(head)
                }
            }
            return nil
        } catch {
            return end(.failed(.malformedTunnelResponse("\(error)")))
        }
    }

    private mutating func nextOfChallenge(_ input: inout UnsafeRawBufferPointer, _ rest: Int) -> Event? {
        guard rest >= 0 else { return end(.challengeEnded(mayReuse: false)) }
        // The framing of chunks counts too, since that may be longer than what is in them.
        var allowed = UnsafeRawBufferPointer(rebasing: input.prefix(rest))
        let before = allowed.count
        defer { input.dropPrefix(before - allowed.count) }
        do throws(HTTP1ParseError) {
            while let event = try parser.next(&allowed) {
                if case .end(let end) = event { return self.end(.challengeEnded(mayReuse: end.mayReuse)) }
            }
        } catch {
            return end(.challengeEnded(mayReuse: false))
        }
        state = .challenge(rest - before)
        // Everything was allowed, so everything is used up and more is needed.
        return before == input.count && rest > before ? nil : end(.challengeEnded(mayReuse: false))
    }

    /// Whether the connection may be of use when the rest of a challenge has been read.
    private func isWorthReading(_ head: ResponseHead, _ length: HTTP1BodyLength) -> Bool {
        let fields = ["Connection", "Proxy-Connection"].compactMap { head.fields.combinedValue($0)?.lowercased() }
        if fields.contains(where: { $0.contains("close") }) { return false }
        return switch length {
        case .untilClose: false
        case .known(let count): count <= Int64(limits.maximumChallengeLength)
        case .chunked, .none: true
        }
    }

    private mutating func end(_ event: Event) -> Event {
        state = .idle
        return event
    }
}

/// Limits on a proxy's answer to CONNECT.
package struct ConnectTunnelLimits: Sendable, Equatable {
    package var response: HTTP1Limits
    /// Bytes after the head of a 407 that are read away to keep its connection.
    package var maximumChallengeLength: Int

    package init(response: HTTP1Limits = HTTP1Limits(), maximumChallengeLength: Int = 64 << 10) {
        self.response = response
        self.maximumChallengeLength = max(maximumChallengeLength, 0)
    }
}
