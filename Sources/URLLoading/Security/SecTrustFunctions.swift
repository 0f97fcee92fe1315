public import Dispatch
public import Foundation
internal import LoadingTransport

/// The result of a trust evaluation.
@frozen public enum SecTrustResultType: UInt32, Sendable {
    /// Not evaluated yet.
    case invalid = 0
    /// Trusted by an explicit decision of the user.
    case proceed = 1
    /// Distrusted by an explicit decision of the user.
    case deny = 3
    /// Trusted.
    case unspecified = 4
    /// Not trusted, for a reason that the user may override.
    case recoverableTrustFailure = 5
    /// Not trusted, for a reason that cannot be overridden.
    case fatalTrustFailure = 6
    /// The evaluation itself failed.
    case otherError = 7
}

// MARK: Creating

/// Creates a trust object for a certificate or an array of certificates, leaf first, with a policy, an array of
/// policies, or nil.
@discardableResult
public func SecTrustCreateWithCertificates(
    _ certificates: CFTypeRef, _ policies: CFTypeRef?, _ trust: UnsafeMutablePointer<SecTrust?>
) -> OSStatus {
    guard let chain: [SecCertificate] = elements(of: certificates), !chain.isEmpty,
        let wanted: [SecPolicy] = policies.map({ elements(of: $0) }) ?? []
    else {
        trust.pointee = nil
        return errSecParam
    }
    trust.pointee = SecTrust(chain, policies: wanted)
    return errSecSuccess
}

/// The elements of an array, or a single object as one element; nil if any has another type.
private func elements<Element>(of object: AnyObject) -> [Element]? {
    if let element = object as? Element { return [element] }
    guard let array = object as? NSArray else { return nil }
    let elements = array.compactMap { $0 as? Element }
    return elements.count == array.count ? elements : nil
}

// MARK: Evaluating

/// Whether the chain is trusted; sets `error` if not. Can block on disk access.
@discardableResult
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    let outcome = trust.evaluate()
    if !outcome.isTrusted { error?.pointee = outcome.cfError(trust) }
    return outcome.isTrusted
}

/// Evaluates in the background and calls `result` on `queue`.
@preconcurrency
@discardableResult
public func SecTrustEvaluateAsyncWithError(
    _ trust: SecTrust, _ queue: DispatchQueue, _ result: @escaping @Sendable (SecTrust, Bool, CFError?) -> Void
) -> OSStatus {
    DispatchQueue.global().async {
        let outcome = trust.evaluate()
        queue.async { result(trust, outcome.isTrusted, outcome.cfError(trust)) }
    }
    return errSecSuccess
}

/// The older form of ``SecTrustEvaluateAsyncWithError(_:_:_:)``.
@preconcurrency
@discardableResult
public func SecTrustEvaluateAsync(
    _ trust: SecTrust, _ queue: DispatchQueue?, _ result: @escaping @Sendable (SecTrust, SecTrustResultType) -> Void
) -> OSStatus {
    DispatchQueue.global().async {
        let outcome = trust.evaluate()
        (queue ?? .main).async { result(trust, outcome.result) }
    }
    return errSecSuccess
}

/// The older spelling of ``SecTrustEvaluateWithError(_:_:)``.
@discardableResult
public func SecTrustEvaluate(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>?) -> OSStatus {
    result?.pointee = trust.evaluate().result
    return errSecSuccess
}

/// The result of the last evaluation; `invalid` if there was none since the last change.
@discardableResult
public func SecTrustGetTrustResult(_ trust: SecTrust, _ result: UnsafeMutablePointer<SecTrustResultType>) -> OSStatus {
    result.pointee = trust.knownOutcome?.result ?? .invalid
    return errSecSuccess
}

/// Result and time of the last evaluation, or nil if there was none since the last change.
@discardableResult
public func SecTrustCopyResult(_ trust: SecTrust) -> CFDictionary? {
    guard let outcome = trust.knownOutcome else { return nil }
    let result = NSMutableDictionary()
    result["TrustResultValue" as NSString] = NSNumber(value: outcome.result.rawValue)
    result["TrustEvaluationDate" as NSString] = outcome.time as NSDate
    return result
}

// Immutable, so sharing them is safe.

/// The name of a certificate in ``SecTrustCopyProperties(_:)``, a string.
nonisolated(unsafe) public let kSecPropertyTypeTitle: CFString = "title"
/// Why a certificate is not trusted in ``SecTrustCopyProperties(_:)``, a string.
nonisolated(unsafe) public let kSecPropertyTypeError: CFString = "error"

/// A dictionary for each certificate of the chain, from the leaf to the root, with its name, and what is wrong with it
/// if the last evaluation has failed. Empty if there was no evaluation since the last change.
@discardableResult
public func SecTrustCopyProperties(_ trust: SecTrust) -> CFArray? {
    guard let outcome = trust.knownOutcome else { return NSArray() }
    let properties = outcome.chain.enumerated().map { depth, certificate in
        let entries = NSMutableDictionary()
        entries[kSecPropertyTypeTitle] = certificate.certificate.summary.map { $0 as NSString }
        entries[kSecPropertyTypeError] = outcome.failure(ofCertificateAt: depth).map { $0 as NSString }
        return entries
    }
    return properties as NSArray
}

extension SecTrust.Outcome {
    /// Why the evaluation has failed at a certificate, counted from the leaf; nil if it has not. A failure without a
    /// known fault counts as the leaf's.
    fileprivate func failure(ofCertificateAt depth: Int) -> String? {
        guard let error else { return nil }
        if faults.isEmpty { return depth == 0 ? error.reason : nil }
        return faults.first { $0.depth == depth }?.error.reason
    }

    fileprivate func cfError(_ trust: SecTrust) -> CFError? {
        guard let error else { return nil }
        let name = trust.certificate?.printableSummary ?? ""
        let description =
            switch error.status {
            case errSecCertificateExpired: "“\(name)” certificate is expired"
            case errSecCertificateNotValidYet: "“\(name)” certificate is not valid yet"
            case errSecHostNameMismatch: "“\(name)” certificate name does not match input"
            case errSecCertificateRevoked: "“\(name)” certificate is revoked"
            default: "“\(name)” certificate is not trusted"
            }
        return .status(error.status, description, reason: error.reason)
    }
}

// MARK: Parameters of the evaluation

/// Sets the policies: one policy or an array of policies.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    guard let wanted: [SecPolicy] = elements(of: policies) else { return errSecParam }
    trust.change { $0.policies = wanted }
    return errSecSuccess
}

/// The policies of the evaluation.
@discardableResult
public func SecTrustCopyPolicies(_ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    policies.pointee = trust.read(\.policies) as NSArray
    return errSecSuccess
}

/// Sets the anchor certificates, which replace the system's roots; nil restores these. To trust both, call
/// ``SecTrustSetAnchorCertificatesOnly(_:_:)`` with false.
@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
    guard let anchorCertificates else {
        trust.change {
            $0.anchors = nil
            $0.trustsAnchorsOnly = false
        }
        return errSecSuccess
    }
    guard let anchors: [SecCertificate] = elements(of: anchorCertificates) else { return errSecParam }
    trust.change {
        $0.anchors = anchors
        $0.trustsAnchorsOnly = true
    }
    return errSecSuccess
}

/// Sets whether only the custom anchor certificates are trusted: if there are none, no chain is.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    trust.change { $0.trustsAnchorsOnly = anchorCertificatesOnly }
    return errSecSuccess
}

/// The custom anchor certificates, or nil.
@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
    _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    anchors.pointee = trust.read(\.anchors).map { $0 as NSArray }
    return errSecSuccess
}

/// Sets whether certificates and revocation data may be fetched. No effect on Linux: nothing is fetched.
@discardableResult
public func SecTrustSetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: Bool) -> OSStatus { errSecSuccess }

/// Sets the time at which the chain must be valid.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
    let time = verifyDate as Date
    trust.change { $0.time = time }
    return errSecSuccess
}

/// The time at which the chain must be valid, in seconds since 2001: the one that was set, otherwise the current time.
@discardableResult
public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
    (trust.read(\.time) ?? Date()).timeIntervalSinceReferenceDate
}

/// Sets the OCSP response for the leaf: `Data`, or an array of which the first element is used.
@discardableResult
public func SecTrustSetOCSPResponse(_ trust: SecTrust, _ responseData: CFTypeRef?) -> OSStatus {
    let responses: [NSData]? = responseData.map { elements(of: $0) } ?? []
    guard let responses else { return errSecParam }
    let response = responses.first.map { [UInt8]($0 as Data) } ?? []
    trust.change {
        $0.response = response
        $0.isResponseSet = true
    }
    return errSecSuccess
}

/// The current faults of the chain, as exceptions for ``SecTrustSetExceptions(_:_:)``. Nil if there are none, or if one
/// cannot be excepted.
@discardableResult
public func SecTrustCopyExceptions(_ trust: SecTrust) -> CFData? {
    SecTrustExceptions(trust.evaluate(), of: trust.certificate, for: trust.names).map { $0.encoded as NSData }
}

/// Sets the faults to ignore; nil removes all exceptions. Returns false if the exceptions are for another certificate.
@discardableResult
public func SecTrustSetExceptions(_ trust: SecTrust, _ exceptions: CFData?) -> Bool {
    guard let exceptions else {
        trust.change { $0.exceptions = nil }
        return true
    }
    guard let known = SecTrustExceptions(exceptions as Data), known.isAbout(trust.certificate) else { return false }
    trust.change { $0.exceptions = known }
    return true
}

// MARK: The chain

/// The chain from the leaf to the root, as far as it could be built. Evaluates if necessary.
@discardableResult
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? {
    let chain = trust.evaluate().chain
    return chain.isEmpty ? nil : chain as NSArray
}

/// The number of certificates of ``SecTrustCopyCertificateChain(_:)``.
@discardableResult
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex { trust.evaluate().chain.count }

/// The certificate at an index of ``SecTrustCopyCertificateChain(_:)``.
@discardableResult
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
    let chain = trust.evaluate().chain
    return chain.indices.contains(ix) ? chain[ix] : nil
}

/// The leaf's public key.
@discardableResult
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? { trust.certificate.flatMap { SecCertificateCopyKey($0) } }

/// The older spelling of ``SecTrustCopyKey(_:)``.
@discardableResult
public func SecTrustCopyPublicKey(_ trust: SecTrust) -> SecKey? { SecTrustCopyKey(trust) }
