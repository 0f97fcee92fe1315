public import Foundation
internal import LoadingTransport

/// A public or a private key. Immutable; two are equal when they are the same half of the same key.
public final class SecKey: NSObject, Sendable {
    let key: CryptographicKey

    init(_ key: CryptographicKey) { self.key = key }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? SecKey else { return false }
        return other === self || key.isEqual(to: other.key)
    }

    public override var hash: Int { key.publicKey?.plainForm.hashValue ?? 0 }

    /// Never the key itself: it may be private, and a log is not.
    public override var description: String {
        "<SecKey: \(key.isPrivate ? "private" : "public"), \(key.bitCount) bits>"
    }
}

// Constants that never change, hence safe to share.

/// The kind of key.
nonisolated(unsafe) public let kSecAttrKeyType: CFString = "type"
/// A key of the RSA algorithm.
nonisolated(unsafe) public let kSecAttrKeyTypeRSA: CFString = "42"
/// A key on an elliptic curve of NIST's.
nonisolated(unsafe) public let kSecAttrKeyTypeECSECPrimeRandom: CFString = "73"
/// Which half of a key.
nonisolated(unsafe) public let kSecAttrKeyClass: CFString = "kcls"
/// The half that everybody may know.
nonisolated(unsafe) public let kSecAttrKeyClassPublic: CFString = "0"
/// The half that nobody else may know.
nonisolated(unsafe) public let kSecAttrKeyClassPrivate: CFString = "1"
/// The length of a key, a number.
nonisolated(unsafe) public let kSecAttrKeySizeInBits: CFString = "bsiz"

/// The key in its plain form: PKCS #1 for RSA; for an elliptic curve the point, uncompressed, and behind it the number
/// if the key is private. Nil, with the error, for other kinds.
@discardableResult
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    if let bytes = key.key.plainForm { return NSData(bytes) }
    error?.pointee = .passRetained(.status(errSecParam, "This kind of key has no external representation."))
    return nil
}

/// Kind, half and length of the key.
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

/// The public half.
@discardableResult
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? { key.key.publicKey.map { SecKey($0) } }

/// A key from its plain form, of the kind and half that the attributes name. Nil, with the error, if the bytes are no
/// such key.
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
