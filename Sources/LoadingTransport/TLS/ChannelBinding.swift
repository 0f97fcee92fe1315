internal import CLoadingTLS

/// What binds an authentication to the TLS connection below it, of the type tls-server-end-point (RFC 5929 §4): a hash
/// of the server's certificate. A server that checks it refuses an authentication that was meant for another server.
package struct ChannelBinding: Equatable, Sendable {
    /// The application data of GSSAPI's channel bindings (RFC 5056 §2.1): the name of the type, a colon and the hash.
    package let applicationData: [UInt8]

    /// Returns nil if the type is undefined for the certificate: the signature on it has no hash function of its own,
    /// as with Ed25519.
    package init?(endPoint certificate: Certificate) {
        let hash = [UInt8](unsafeUninitializedCapacity: 64) { hash, count in
            count = hash.baseAddress.map { clt_certificate_end_point_hash(certificate.pointer, $0) } ?? 0
        }
        if hash.isEmpty { return nil }
        applicationData = Array("tls-server-end-point:".utf8) + hash
    }
}

extension TLSStream {
    /// The binding to the peer's certificate; for a resumed session, to that of its first handshake. Valid after the
    /// handshake. Computed anew at each call.
    package var channelBinding: ChannelBinding? {
        peer?.chain.certificates.first.flatMap { ChannelBinding(endPoint: $0) }
    }
}
