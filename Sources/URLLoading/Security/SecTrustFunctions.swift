public import Dispatch
public import Foundation
internal import LoadingTransport

/// What an evaluation came to.
public enum SecTrustResultType: UInt32, Sendable {
    /// There was none yet.
    case invalid = 0
    /// Trusted, since the user said so.
    case proceed = 1
    /// Not trusted, since the user said so.
    case deny = 3
    /// Trusted.
    case unspecified = 4
    /// Not trusted, for a reason that the user may overlook.
    case recoverableTrustFailure = 5
    /// Not trusted, and nothing can be done about it.
    case fatalTrustFailure = 6
    /// The evaluation itself failed.
    case otherError = 7
}

// MARK: Making

/// A trust of one certificate or an array of them, the leaf first, for a policy, an array of them, or none.
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

/// An array's elements, or the one object that stands for such an array; nil if one is of another type.
private func elements<Element>(of object: AnyObject) -> [Element]? {
    if let element = object as? Element { return [element] }
    guard let array = object as? NSArray else { return nil }
    let elements = array.compactMap { $0 as? Element }
    return elements.count == array.count ? elements : nil
}

// MARK: Evaluating

/// Whether the chain is trusted; with the reason if not. May wait for a disk.
@discardableResult
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool {
    let outcome = trust.evaluate()
    if !outcome.isTrusted { error?.pointee = outcome.cfError(trust) }
    return outcome.isTrusted
}

/// The same in the background; `result` is called on the queue.
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

extension SecTrust.Outcome {
    fileprivate func cfError(_ trust: SecTrust) -> CFError? {
        guard let error else { return nil }
        let name = trust.certificate?.certificate.summary ?? ""
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

// MARK: What the answer depends on

/// Sets what the chain has to be good for: one policy or an array of them.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    guard let wanted: [SecPolicy] = elements(of: policies) else { return errSecParam }
    trust.change { $0.policies = wanted }
    return errSecSuccess
}

/// What the chain has to be good for.
@discardableResult
public func SecTrustCopyPolicies(_ trust: SecTrust, _ policies: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    policies.pointee = trust.read(\.policies) as NSArray
    return errSecSuccess
}

/// Sets the roots to trust in place of the system's; nil for the system's again. To trust both, call
/// ``SecTrustSetAnchorCertificatesOnly(_:_:)`` with false.
@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
    guard let anchorCertificates else {
        trust.change {
            $0.anchors = nil
            $0.trustsAnchorsOnly = true
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

/// Whether the roots that were set are the only ones.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    trust.change { $0.trustsAnchorsOnly = anchorCertificatesOnly }
    return errSecSuccess
}

/// The roots that were set, or nil.
@discardableResult
public func SecTrustCopyCustomAnchorCertificates(
    _ trust: SecTrust, _ anchors: UnsafeMutablePointer<CFArray?>
) -> OSStatus {
    anchors.pointee = trust.read(\.anchors).map { $0 as NSArray }
    return errSecSuccess
}

/// Whether certificates and revocation answers may be fetched. Nothing ever is on Linux.
@discardableResult
public func SecTrustSetNetworkFetchAllowed(_ trust: SecTrust, _ allowFetch: Bool) -> OSStatus { errSecSuccess }

/// Sets the time at which the chain has to be valid.
@discardableResult
public func SecTrustSetVerifyDate(_ trust: SecTrust, _ verifyDate: CFDate) -> OSStatus {
    let time = verifyDate as Date
    trust.change { $0.time = time }
    return errSecSuccess
}

/// The time at which the chain has to be valid: that which was set, else now.
@discardableResult
public func SecTrustGetVerifyTime(_ trust: SecTrust) -> CFAbsoluteTime {
    (trust.read(\.time) ?? Date()).timeIntervalSinceReferenceDate
}

/// Sets the OCSP response about the leaf: `Data`, or an array of it, of which the first counts.
@discardableResult
public func SecTrustSetOCSPResponse(_ trust: SecTrust, _ responseData: CFTypeRef?) -> OSStatus {
    let responses: [NSData]? = responseData.map { elements(of: $0) } ?? []
    guard let responses else { return errSecParam }
    let response = responses.first.map { [UInt8]($0 as Data) } ?? []
    trust.change { $0.response = response }
    return errSecSuccess
}

/// All that is wrong with the chain now, to be overlooked later by ``SecTrustSetExceptions(_:_:)``. Nil if there is nothing,
/// or something that may not be overlooked.
@discardableResult
public func SecTrustCopyExceptions(_ trust: SecTrust) -> CFData? {
    SecTrustExceptions(trust.evaluate(), of: trust.certificate, for: trust.names).map { $0.encoded as NSData }
}

/// Has what was wrong overlooked, and nothing else; nil takes that back. False if the exceptions are those of another
/// certificate.
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

/// The chain from the leaf to the root, or as far as one could be built. Evaluates, if that was not done yet.
@discardableResult
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? {
    let chain = trust.evaluate().chain
    return chain.isEmpty ? nil : chain as NSArray
}

/// How many certificates ``SecTrustCopyCertificateChain(_:)`` has.
@discardableResult
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex { trust.evaluate().chain.count }

/// One of the certificates of ``SecTrustCopyCertificateChain(_:)``.
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
