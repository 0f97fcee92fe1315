internal import CLoadingTLS
internal import LoadingSemantics

/// Parsed certificates, the leaf first.
///
/// Unchecked: immutable, and OpenSSL locks its internal caches.
package final class CertificateChain: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes ownership.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { clt_chain_free(pointer) }

    /// Returns nil if a certificate is malformed.
    package convenience init?(der certificates: [[UInt8]]) {
        guard let pointer = clt_chain_new() else { return nil }
        self.init(owning: pointer)
        for certificate in certificates where !clt_chain_append(pointer, certificate, certificate.count) { return nil }
    }

    package var certificates: [Certificate] {
        (0..<clt_chain_count(pointer)).compactMap { clt_chain_get(pointer, $0).map { Certificate(owning: $0) } }
    }

    package var der: [[UInt8]] {
        (0..<clt_chain_count(pointer)).map { index in
            [UInt8](unsafeUninitializedCapacity: clt_chain_certificate(pointer, index, nil)) { bytes, count in
                count = clt_chain_certificate(pointer, index, bytes.baseAddress)
            }
        }
    }

    /// The SHA-256 digests of the public keys, for pinning.
    package var keyDigests: [[UInt8]] {
        certificates.map { certificate in
            // An empty digest matches no pin.
            certificate.publicKeyInfo.flatMap { MessageDigest.hash(.sha256, $0) } ?? []
        }
    }
}
