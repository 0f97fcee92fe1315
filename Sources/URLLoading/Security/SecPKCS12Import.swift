public import Foundation
internal import LoadingTransport

// Immutable, so sharing them is safe.

/// The password of the archive, a string.
nonisolated(unsafe) public let kSecImportExportPassphrase: CFString = "passphrase"
/// The identity, a `SecIdentity`.
nonisolated(unsafe) public let kSecImportItemIdentity: CFString = "identity"
/// A `SecTrust` of the identity's certificates.
nonisolated(unsafe) public let kSecImportItemTrust: CFString = "trust"
/// The certificate chain of the identity, leaf first: an array of `SecCertificate`.
nonisolated(unsafe) public let kSecImportItemCertChain: CFString = "chain"
/// The label of the identity in the archive, a string.
nonisolated(unsafe) public let kSecImportItemLabel: CFString = "label"
/// The key identifier in the archive, data.
nonisolated(unsafe) public let kSecImportItemKeyID: CFString = "keyid"

/// Reads the identity in a PKCS #12 archive. Sets `items` to an array with one dictionary with the keys
/// `kSecImportItem…`, or to an empty array if the archive has no key.
///
/// Returns `errSecDecode` if the data is not an archive, `errSecAuthFailed` for a wrong password,
/// `errSecServiceNotAvailable` without OpenSSL, and `errSecUnsupportedFormat` if OpenSSL does not have the algorithm
/// that encrypts the archive. Old archives use RC2, RC4 or DES, for which OpenSSL 3 loads a module, `legacy.so`, that
/// some systems package separately.
@discardableResult
public func SecPKCS12Import(
    _ pkcs12_data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    items.pointee = nil
    if SecCertificate.libraryFailure != nil { return errSecServiceNotAvailable }
    let bytes = [UInt8](pkcs12_data as Data)
    let password = options[kSecImportExportPassphrase] as? String ?? ""
    switch TLSIdentity.pkcs12Status(bytes, password: password) {
    case .notPKCS12: return errSecDecode
    case .wrongPassword: return errSecAuthFailed
    case .opened: break
    }
    let inside: TLSIdentity?
    do throws(TLSError) {
        inside = try TLSIdentity(pkcs12: bytes, password: password)
    } catch {
        if error == .unsupportedEncryption { return errSecUnsupportedFormat }
        inside = nil
    }
    guard let inside, let identity = SecIdentity(inside) else {
        items.pointee = NSArray()
        return errSecSuccess
    }
    let chain = [identity.certificate] + identity.intermediates
    let item = NSMutableDictionary()
    item[kSecImportItemIdentity] = identity
    item[kSecImportItemCertChain] = chain as NSArray
    item[kSecImportItemTrust] = SecTrust(chain, policies: [SecPolicyCreateBasicX509()])
    item[kSecImportItemLabel] = identity.certificate.certificate.label.map { $0 as NSString }
    item[kSecImportItemKeyID] = identity.certificate.certificate.keyIdentifier.map { NSData($0) }
    items.pointee = [item] as NSArray
    return errSecSuccess
}
