internal import CLoadingTLS

/// An X.509 certificate.
///
/// Unchecked: immutable, and OpenSSL locks its internal caches.
package final class Certificate: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Takes ownership.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { clt_certificate_free(pointer) }

    /// Returns nil unless the bytes are one certificate in DER.
    package convenience init?(der: [UInt8]) {
        guard let pointer = clt_certificate_new(der, der.count) else { return nil }
        self.init(owning: pointer)
    }

    package var der: [UInt8] { part(CLT_DER) ?? [] }

    /// A description of the subject for people.
    package var summary: String? { text(CLT_SUMMARY) }
    package var commonName: String? { text(CLT_COMMON_NAME) }
    /// The same for the issuer.
    var issuerSummary: String? { text(CLT_ISSUER_SUMMARY) }
    /// Big-endian.
    package var serialNumber: [UInt8] { part(CLT_SERIAL) ?? [] }
    /// The distinguished name in DER, normalized so that equal names have equal bytes.
    package var normalizedIssuer: [UInt8]? { part(CLT_ISSUER) }
    package var normalizedSubject: [UInt8]? { part(CLT_SUBJECT) }
    /// The SubjectPublicKeyInfo in DER.
    package var publicKeyInfo: [UInt8]? { part(CLT_KEY) }
    /// The friendly name in its PKCS #12 archive.
    package var label: String? { text(CLT_LABEL) }
    /// The localKeyID in its PKCS #12 archive, which identifies the private key.
    package var keyIdentifier: [UInt8]? { part(CLT_KEY_ID) }

    package var key: CryptographicKey? { clt_certificate_key(pointer).map { CryptographicKey(owning: $0) } }

    package var mailAddresses: [String] {
        let addresses = taken(clt_certificate_mail(pointer)) ?? []
        return addresses.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    /// notBefore and notAfter, in seconds since 1970.
    package var validity: (from: Int64, until: Int64)? {
        var (from, until) = (Int64(), Int64())
        return clt_certificate_validity(pointer, &from, &until) ? (from, until) : nil
    }

    private func part(_ part: clt_part) -> [UInt8]? { taken(clt_certificate_part(pointer, part)) }
    private func text(_ part: clt_part) -> String? { self.part(part).map { String(decoding: $0, as: UTF8.self) } }
}

/// Copies the bytes and frees them; nil if there are none.
func taken(_ bytes: clt_bytes) -> [UInt8]? {
    defer { clt_bytes_free(bytes) }
    guard let start = bytes.bytes else { return nil }
    return Array(UnsafeBufferPointer(start: start, count: bytes.count))
}
