public import Foundation

/// What a certificate chain has to be good for. Immutable.
public final class SecPolicy: NSObject, Sendable {
    enum Kind: Equatable {
        case basic
        /// `isServer`: the certificate is a server's; else it is a client's.
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

// Constants that never change, hence safe to share.

/// The host of a policy for TLS servers.
nonisolated(unsafe) public let kSecPolicyName: CFString = "SecPolicyName"
/// The object identifier of a policy.
nonisolated(unsafe) public let kSecPolicyOid: CFString = "SecPolicyOid"

/// Ask the issuer's OCSP responder.
public let kSecRevocationOCSPMethod: CFOptionFlags = 1
/// Read the issuer's revocation list.
public let kSecRevocationCRLMethod: CFOptionFlags = 2
/// Read the list rather than ask.
public let kSecRevocationPreferCRL: CFOptionFlags = 4
/// Without an answer that says that it is good the certificate is not trusted.
public let kSecRevocationRequirePositiveResponse: CFOptionFlags = 8
/// Take only what is here already.
public let kSecRevocationNetworkAccessDisabled: CFOptionFlags = 16
/// Either way.
public let kSecRevocationUseAnyAvailableMethod: CFOptionFlags = kSecRevocationOCSPMethod | kSecRevocationCRLMethod

/// The policy for TLS: the chain of a server, or with false that of a client, of that host if there is one.
@discardableResult
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    SecPolicy(.tls(isServer: server, host: hostname.map { $0 as String }))
}

/// The policy that demands a valid chain and nothing else.
@discardableResult
public func SecPolicyCreateBasicX509() -> SecPolicy { SecPolicy(.basic) }

/// The policy for revocation. Nothing is fetched on Linux: what counts is the response that came with the certificate, or
/// was set with `SecTrustSetOCSPResponse`.
@discardableResult
public func SecPolicyCreateRevocation(_ revocationFlags: CFOptionFlags) -> SecPolicy? {
    SecPolicy(.revocation(revocationFlags))
}

/// Identifier and host of a policy.
@discardableResult
public func SecPolicyCopyProperties(_ policyRef: SecPolicy) -> CFDictionary? {
    let properties = NSMutableDictionary()
    properties[kSecPolicyOid] = policyRef.identifier as NSString
    if case .tls(_, let host?) = policyRef.kind { properties[kSecPolicyName] = host as NSString }
    return properties
}
