public import Foundation
internal import LoadingTransport

/// A public or private key. Immutable. Keys are equal if they are the same half of the same key pair.
public final class SecKey: NSObject, Sendable {
    let key: CryptographicKey

    init(_ key: CryptographicKey) { self.key = key }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecKey else { return false }
        return other === self || key.isEqual(to: other.key)
    }

    public override var hash: Int { key.publicKey?.plainForm.hashValue ?? 0 }

    /// Contains no key material, because descriptions are written to logs.
    public override var description: String {
        "<SecKey: \(key.isPrivate ? "private" : "public"), \(key.bitCount) bits>"
    }
}

// Immutable, so sharing them is safe.

/// The key type: `kSecAttrKeyTypeRSA` or `kSecAttrKeyTypeECSECPrimeRandom`.
nonisolated(unsafe) public let kSecAttrKeyType: CFString = "type"
/// An RSA key.
nonisolated(unsafe) public let kSecAttrKeyTypeRSA: CFString = "42"
/// A key on a NIST elliptic curve.
nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
/// The older name of `kSecAttrKeyTypeECSECPrimeRandom`.
nonisolated(unsafe) public let kSecAttrKeyTypeEC: CFString = kSecAttrKeyTypeECSECPrimeRandom
/// Whether a key is public or private.
nonisolated(unsafe) public let kSecAttrKeyClass: CFString = "kcls"
/// A public key.
nonisolated(unsafe) public let kSecAttrKeyClassPublic: CFString = "0"
/// A private key.
nonisolated(unsafe) public let kSecAttrKeyClassPrivate: CFString = "1"
/// The key size in bits, a number.
nonisolated(unsafe) public let kSecAttrKeySizeInBits: CFString = "bsiz"

/// The key as PKCS #1 for RSA, or for an elliptic curve as the uncompressed point, followed by the private scalar if
/// the key is private. Other key types return nil and set `error`.
@discardableResult
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    if let bytes = key.key.plainForm { return NSData(bytes) }
    error?.pointee = .passRetained(.status(errSecParam, "This kind of key has no external representation."))
    return nil
}

/// The length in bytes of the modulus of an RSA key, or of a coordinate of an elliptic curve.
public func SecKeyGetBlockSize(_ key: SecKey) -> Int { (key.key.bitCount + 7) / 8 }

/// Type, class and size of the key.
@discardableResult
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? {
    let attributes = NSMutableDictionary()
    attributes[kSecAttrKeyClass] = key.key.isPrivate ? kSecAttrKeyClassPrivate : kSecAttrKeyClassPublic
    attributes[kSecAttrKeySizeInBits] = NSNumber(value: key.key.bitCount)
    switch key.key.kind {
    case .rsa: attributes[kSecAttrKeyType] = kSecAttrKeyTypeRSA
    case .elliptic: attributes[kSecAttrKeyType] = kSecAttrKeyTypeECSECPrimeRandom
    case .other: break
    }
    return attributes
}

/// The public key of a key pair.
@discardableResult
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? { key.key.publicKey.map { SecKey($0) } }

/// Creates a key of the type and class in `attributes` from its external representation. Returns nil and sets `error`
/// if the bytes are not such a key.
@discardableResult
public func SecKeyCreateWithData(
    _ keyData: CFData, _ attributes: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    let kind: CryptographicKey.Kind =
        switch attributes[kSecAttrKeyType] as? String {
        case "42": .rsa
        case "73": .elliptic
        default: .other
        }
    let isPrivate = attributes[kSecAttrKeyClass] as? String == "1"
    if let key = CryptographicKey(kind, isPrivate: isPrivate, plain: [UInt8](keyData as Data)) { return SecKey(key) }
    error?.pointee = .passRetained(.status(errSecParam, "The data is not such a key."))
    return nil
}
