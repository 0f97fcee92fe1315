internal import CLoadingTLS

/// A session that a server is willing to resume: a later handshake with it needs no certificates and fewer bytes.
///
/// It keeps what was decided when the session was made: a resumed handshake asks neither for trust nor for an
/// identity. So it is only ever offered to the same host in the same context, and who keeps it must keep apart what was
/// decided for different owners (TLS-8).
///
/// Unchecked: the session is not changed once the server has issued it; each connection resumes a copy.
package final class TLSResumption: @unchecked Sendable {
    let pointer: OpaquePointer
    let context: TLSContext
    package let serverName: String
    /// The client certificate that the session stands for.
    package let identity: TLSIdentity?

    /// Takes over the session.
    init(owning pointer: OpaquePointer, context: TLSContext, serverName: String, identity: TLSIdentity?) {
        self.pointer = pointer
        self.context = context
        self.serverName = serverName
        self.identity = identity
    }

    deinit { clt_session_free(pointer) }

    package var version: TLSVersion { TLSVersion(rawValue: clt_session_version(pointer)) }

    /// Whether it should be offered once only, lest connections can be linked (RFC 8446 appendix C.4).
    package var isSingleUse: Bool { version >= .tls13 }

    /// Seconds since 1970.
    package var expiry: Int64 { clt_session_expiry(pointer) }
}
