public import Foundation
internal import LoadingTransport

// Constants that never change, hence safe to share.

/// The password of an archive, a text.
nonisolated(unsafe) public let kSecImportExportPassphrase: CFString = "passphrase"
/// The identity, a `SecIdentity`.
nonisolated(unsafe) public let kSecImportItemIdentity: CFString = "identity"
/// A `SecTrust` of the identity's certificates.
nonisolated(unsafe) public let kSecImportItemTrust: CFString = "trust"
/// The identity's certificate and those behind it, an array of `SecCertificate`.
nonisolated(unsafe) public let kSecImportItemCertChain: CFString = "chain"
/// What the archive calls the identity, a text.
nonisolated(unsafe) public let kSecImportItemLabel: CFString = "label"
/// By what the archive tells the identity's key, bytes.
nonisolated(unsafe) public let kSecImportItemKeyID: CFString = "keyid"

/// Reads the identity in a PKCS #12 archive. `items` then has one dictionary, with the entries `kSecImportItem…`; an
/// archive without a key gives none. Without OpenSSL the status is `errSecServiceNotAvailable`.
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
    guard let inside = try? TLSIdentity(pkcs12: bytes, password: password), let identity = SecIdentity(inside) else {
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
