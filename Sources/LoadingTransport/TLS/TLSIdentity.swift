internal import CLoadingTLS

/// A certificate and its private key, by which a client proves who it is.
///
/// Unchecked: nothing in it is ever changed.
package final class TLSIdentity: @unchecked Sendable {
    let pointer: OpaquePointer

    private init(_ pointer: OpaquePointer?, _ failure: clt_failure) throws(TLSError) {
        guard let pointer else { throw TLSError(code: TLSError.clientCertificateRejected, failure) }
        self.pointer = pointer
    }

    deinit { clt_identity_free(pointer) }

    /// PEM text with the leaf certificate, then those between it and the root, and the key anywhere among them.
    package convenience init(pem: [UInt8], password: String? = nil) throws(TLSError) {
        var failure = clt_failure()
        try self.init(clt_identity_from_pem(pem, pem.count, password, &failure), failure)
    }

    /// A PKCS #12 file.
    package convenience init(pkcs12: [UInt8], password: String) throws(TLSError) {
        var failure = clt_failure()
        try self.init(clt_identity_from_pkcs12(pkcs12, pkcs12.count, password, &failure), failure)
    }

    /// A chain and its key, which may be in PKCS #8 or in the traditional form of its kind.
    package convenience init(chain: CertificateChain, privateKey: [UInt8]) throws(TLSError) {
        var failure = clt_failure()
        try self.init(clt_identity_from_der(chain.pointer, privateKey, privateKey.count, &failure), failure)
    }

    /// A certificate with its key, and what is sent behind it.
    package convenience init(
        _ leaf: Certificate, key: CryptographicKey, intermediates: CertificateChain?
    ) throws(TLSError) {
        var failure = clt_failure()
        try self.init(clt_identity_new(leaf.pointer, key.pointer, intermediates?.pointer, &failure), failure)
    }

    package enum Archive: Sendable {
        case opens
        /// The password is another.
        case isLocked
        case isNone
    }

    /// Whether bytes are a PKCS #12 archive that the password opens.
    package static func archive(_ bytes: [UInt8], password: String) -> Archive {
        switch clt_pkcs12_try(bytes, bytes.count, password) {
        case CLT_ARCHIVE_OPENS: .opens
        case CLT_ARCHIVE_IS_LOCKED: .isLocked
        default: .isNone
        }
    }

    /// The private key in the plain form of its kind, for who speaks TLS by other means.
    package var privateKey: [UInt8]? { key?.privateForm }

    package var key: CryptographicKey? { clt_identity_key(pointer).map { CryptographicKey(owning: $0) } }

    /// The leaf and the certificates that are sent with it.
    package var chain: CertificateChain? {
        clt_identity_chain(pointer).map(CertificateChain.init(owning:))
    }
}
