internal import CLoadingTLS

/// A public or private key.
///
/// Unchecked: immutable.
package final class CryptographicKey: @unchecked Sendable {
    package enum Kind: Sendable {
        case rsa
        case elliptic
        case other
    }

    let pointer: OpaquePointer

    /// Takes ownership.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { clt_key_free(pointer) }

    /// Creates a key from its raw form: PKCS #1 for RSA; for a NIST curve the uncompressed point, followed by the
    /// scalar of a private key.
    package convenience init?(_ kind: Kind, isPrivate: Bool, plain bytes: [UInt8]) {
        let number =
            switch kind {
            case .rsa: CLT_RSA
            case .elliptic: CLT_ELLIPTIC
            case .other: CLT_OTHER_KEY
            }
        guard let pointer = clt_key_new(number, isPrivate, bytes, bytes.count) else { return nil }
        self.init(owning: pointer)
    }

    package var kind: Kind {
        switch clt_key_kind_of(pointer) {
        case CLT_RSA: .rsa
        case CLT_ELLIPTIC: .elliptic
        default: .other
        }
    }

    package var bitCount: Int { clt_key_bits(pointer) }
    package var isPrivate: Bool { clt_key_is_private(pointer) }

    /// Returns nil for a key type without a raw form.
    package var plainForm: [UInt8]? { taken(clt_key_plain(pointer)) }

    /// A private key in DER: PKCS #1, SEC 1 for elliptic curves, PKCS #8 otherwise. Nil if it cannot be exported.
    package var privateForm: [UInt8]? { taken(clt_key_private_form(pointer)) }

    package var publicKey: CryptographicKey? { clt_key_public(pointer).map { CryptographicKey(owning: $0) } }

    package func isEqual(to other: CryptographicKey) -> Bool { clt_keys_are_equal(pointer, other.pointer) }
}
