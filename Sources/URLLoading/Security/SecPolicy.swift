public import Foundation

/// A policy that a certificate chain must satisfy. Immutable.
public final class SecPolicy: NSObject, Sendable {
    enum Kind: Equatable {
        case basic
        /// `isServer`: whether the certificate is a server's or a client's.
        case tls(isServer: Bool, host: String?)
        case revocation(CFOptionFlags)
    }

    let kind: Kind

    init(_ kind: Kind) { self.kind = kind }

    public override func isEqual(_ object: Any?) -> Bool { (object as? SecPolicy)?.kind == kind }

    public override var hash: Int { identifier.hashValue }

    public override var description: String { "<SecPolicy: \(identifier)>" }

    /// Apple's object identifier of the policy.
    var identifier: String {
        switch kind {
        case .basic: "1.2.840.113635.100.1.2"
        case .tls: "1.2.840.113635.100.1.3"
        case .revocation: "1.2.840.113635.100.1.21"
        }
    }
}

// Immutable, so sharing them is safe.

/// The host of a policy for TLS servers.
nonisolated(unsafe) public let kSecPolicyName: CFString = "SecPolicyName"
/// The object identifier of a policy.
nonisolated(unsafe) public let kSecPolicyOid: CFString = "SecPolicyOid"

/// Check with OCSP.
public let kSecRevocationOCSPMethod: CFOptionFlags = 1
/// Check with certificate revocation lists.
public let kSecRevocationCRLMethod: CFOptionFlags = 2
/// Prefer revocation lists to OCSP.
public let kSecRevocationPreferCRL: CFOptionFlags = 4
/// Do not trust the certificate without a positive response.
public let kSecRevocationRequirePositiveResponse: CFOptionFlags = 8
/// Use only responses that are available locally.
public let kSecRevocationNetworkAccessDisabled: CFOptionFlags = 16
/// Use either method.
public let kSecRevocationUseAnyAvailableMethod: CFOptionFlags = kSecRevocationOCSPMethod | kSecRevocationCRLMethod

/// The policy for the certificate chain of a TLS server (`server` is true) or client, optionally for a host name.
@discardableResult
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    SecPolicy(.tls(isServer: server, host: hostname.map { $0 as String }))
}

/// The policy that requires a valid chain and nothing else.
@discardableResult
public func SecPolicyCreateBasicX509() -> SecPolicy { SecPolicy(.basic) }

/// The policy for revocation checks. On Linux nothing is fetched: the stapled OCSP response is used, or the one that
/// was set with `SecTrustSetOCSPResponse`.
@discardableResult
public func SecPolicyCreateRevocation(_ revocationFlags: CFOptionFlags) -> SecPolicy? {
    SecPolicy(.revocation(revocationFlags))
}

/// The object identifier and host name of a policy.
@discardableResult
public func SecPolicyCopyProperties(_ policyRef: SecPolicy) -> CFDictionary? {
    let properties = NSMutableDictionary()
    properties[kSecPolicyOid] = policyRef.identifier as NSString
    if case .tls(_, let host?) = policyRef.kind { properties[kSecPolicyName] = host as NSString }
    return properties
}
