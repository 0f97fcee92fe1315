internal import CLoadingTLS

/// A client certificate with its private key.
///
/// Unchecked: immutable.
package final class TLSIdentity: @unchecked Sendable {
    let pointer: OpaquePointer

    private init(_ pointer: OpaquePointer?, _ failure: clt_failure) throws(TLSError) {
        guard let pointer else { throw TLSError(code: TLSError.clientCertificateRejected, failure) }
        self.pointer = pointer
    }

    deinit { clt_identity_free(pointer) }

    /// PEM text: the leaf, then intermediates, and the key at any position.
    package convenience init(pem: [UInt8], password: String? = nil) throws(TLSError) {
        var failure = clt_failure()
        try self.init(clt_identity_from_pem(pem, pem.count, password, &failure), failure)
    }

    /// A PKCS #12 archive. Throws `TLSError.unsupportedEncryption` if OpenSSL cannot decrypt it with any password.
    package convenience init(pkcs12: [UInt8], password: String) throws(TLSError) {
        var failure = clt_failure()
        var isUnsupported = false
        let pointer = clt_identity_from_pkcs12(pkcs12, pkcs12.count, password, &isUnsupported, &failure)
        if pointer == nil, isUnsupported { throw .unsupportedEncryption }
        try self.init(pointer, failure)
    }

    /// A chain and its key, in PKCS #8 or in the traditional form of its type.
    package convenience init(chain: CertificateChain, privateKey: [UInt8]) throws(TLSError) {
        var failure = clt_failure()
        try self.init(clt_identity_from_der(chain.pointer, privateKey, privateKey.count, &failure), failure)
    }

    /// A certificate with its key, and the intermediates to send.
    package convenience init(
        _ leaf: Certificate, key: CryptographicKey, intermediates: CertificateChain?
    ) throws(TLSError) {
        var failure = clt_failure()
        try self.init(clt_identity_new(leaf.pointer, key.pointer, intermediates?.pointer, &failure), failure)
    }

    package enum PKCS12Status: Sendable {
        case opened
        /// The password is wrong.
        case wrongPassword
        case notPKCS12
    }

    /// Whether the bytes are a PKCS #12 archive, and whether the password opens it.
    package static func pkcs12Status(_ bytes: [UInt8], password: String) -> PKCS12Status {
        switch clt_pkcs12_try(bytes, bytes.count, password) {
        case CLT_ARCHIVE_OPENS: .opened
        case CLT_ARCHIVE_IS_LOCKED: .wrongPassword
        default: .notPKCS12
        }
    }

    /// The private key in the traditional form of its type, for other TLS libraries.
    package var privateKey: [UInt8]? { key?.privateForm }

    package var key: CryptographicKey? { clt_identity_key(pointer).map { CryptographicKey(owning: $0) } }

    /// The leaf and the intermediates that are sent.
    package var chain: CertificateChain? {
        clt_identity_chain(pointer).map(CertificateChain.init(owning:))
    }
}
