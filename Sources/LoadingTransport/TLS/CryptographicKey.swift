internal import CLoadingTLS

/// A public or a private key.
///
/// Unchecked: nothing in it is ever changed.
package final class CryptographicKey: @unchecked Sendable {
    package enum Kind: Sendable {
        case rsa
        case elliptic
        case other
    }

    let pointer: OpaquePointer

    /// Takes over the key.
    init(owning pointer: OpaquePointer) { self.pointer = pointer }

    deinit { clt_key_free(pointer) }

    /// A key from its plain form: PKCS #1 for RSA; for an elliptic curve of NIST's the point, uncompressed, and behind it
    /// the number if the key is private.
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

    /// Nil for a kind of key without such a form.
    package var plainForm: [UInt8]? { taken(clt_key_plain(pointer)) }

    /// A private key in DER: PKCS #1, the traditional form for elliptic curves, PKCS #8 for all others. Nil if it cannot be told.
    package var privateForm: [UInt8]? { taken(clt_key_private_form(pointer)) }

    package var publicKey: CryptographicKey? { clt_key_public(pointer).map { CryptographicKey(owning: $0) } }

    package func isEqual(to other: CryptographicKey) -> Bool { clt_keys_are_equal(pointer, other.pointer) }
}
