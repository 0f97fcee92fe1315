internal import CLoadingTLS
internal import LoadingSemantics

/// A resumable session: a handshake with it is shorter and needs no certificates.
///
/// It preserves the decisions of the original handshake: a resumed one has no challenge for trust or identity. So
/// it is offered only to the same host in the same context, and its owner must not share it between users with
/// different decisions (TLS-8).
///
/// Unchecked: the session is immutable once issued; each connection resumes a copy.
package final class TLSResumption: @unchecked Sendable {
    let pointer: OpaquePointer
    let context: TLSContext
    package let serverName: String
    /// The client certificate of the session.
    package let identity: TLSIdentity?
    /// The OCSP response that was stapled to the certificates of the session. A resumed handshake brings neither.
    let stapledResponse: [UInt8]?

    /// Takes ownership.
    init(
        owning pointer: OpaquePointer, context: TLSContext, serverName: String, identity: TLSIdentity?,
        stapledResponse: [UInt8]?
    ) {
        self.pointer = pointer
        self.context = context
        self.serverName = serverName
        self.identity = identity
        self.stapledResponse = stapledResponse
    }

    deinit { clt_session_free(pointer) }

    package var version: TLSVersion { TLSVersion(rawValue: clt_session_version(pointer)) }

    /// Whether the session should be used only once, so that connections cannot be linked (RFC 8446 appendix C.4).
    package var isSingleUse: Bool { version >= .tls13 }

    /// In seconds since 1970.
    package var expiry: Int64 {
        let times = clt_session_times_of(pointer)
        return times.received + Self.lifetime(of: version, default: times.lifetime, hint: times.hint)
    }

    /// How long a session can be resumed, in seconds.
    ///
    /// In TLS 1.3 a ticket has the lifetime that the server names, but at most seven days; with 0 it must not be used
    /// (RFC 8446 §4.6.1). Before TLS 1.3, 0 means that the server names none (RFC 5077 §3.3).
    package static func lifetime(of version: TLSVersion, default standard: Int64, hint: Int64) -> Int64 {
        if version >= .tls13 { return min(hint, TimeLimits.standard.longestTicketLifetime) }
        return hint > 0 ? min(hint, standard) : standard
    }
}
