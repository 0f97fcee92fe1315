import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Pinning as it is written for Apple's platforms.
private final class KeyPinner: NSObject, URLSessionDelegate {
    let keys: Set<Data>

    init(keys: Set<Data>) { self.keys = keys }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust,
            let trust = challenge.protectionSpace.serverTrust
        else { return (.performDefaultHandling, nil) }
        var error: CFError?
        guard SecTrustEvaluateWithError(trust, &error) else { return (.cancelAuthenticationChallenge, nil) }
        guard let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate], let leaf = chain.first,
            let key = SecCertificateCopyKey(leaf),
            let bytes = SecKeyCopyExternalRepresentation(key, nil) as Data?, keys.contains(bytes)
        else { return (.cancelAuthenticationChallenge, nil) }
        return (.useCredential, URLCredential(trust: trust))
    }
}

/// Compares the bytes of the server's certificate with those of a file, as the OWASP example does.
private final class CertificatePinner: NSObject, URLSessionDelegate {
    let pinned: Data

    init(pinned: Data) { self.pinned = pinned }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        if challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust,
            let serverTrust = challenge.protectionSpace.serverTrust
        {
            var result = SecTrustResultType.invalid
            if SecTrustEvaluate(serverTrust, &result) == errSecSuccess,
                let serverCertificate = SecTrustGetCertificateAtIndex(serverTrust, 0)
            {
                let serverCertificateData = SecCertificateCopyData(serverCertificate)
                let data = CFDataGetBytePtr(serverCertificateData)
                let size = CFDataGetLength(serverCertificateData)
                let certificate = NSData(bytes: data, length: size)
                if certificate.isEqual(to: pinned) {
                    return completionHandler(.useCredential, URLCredential(trust: serverTrust))
                }
            }
        }
        completionHandler(.cancelAuthenticationChallenge, nil)
    }
}

/// Trust in an authority that comes with the program.
private final class OwnAuthority: NSObject, URLSessionDelegate {
    let root: Data

    init(root: Data) { self.root = root }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let trust = challenge.protectionSpace.serverTrust,
            let certificate = SecCertificateCreateWithData(kCFAllocatorDefault, root as CFData)
        else { return completionHandler(.performDefaultHandling, nil) }
        SecTrustSetAnchorCertificates(trust, [certificate] as CFArray)
        SecTrustSetAnchorCertificatesOnly(trust, true)
        let policy = SecPolicyCreateSSL(true, challenge.protectionSpace.host as CFString)
        SecTrustSetPolicies(trust, policy)
        if SecTrustEvaluateWithError(trust, nil) {
            completionHandler(.useCredential, URLCredential(trust: trust))
        } else {
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    }
}

@Suite struct PinningTests {
    // AUTH-30, TLS-5
    @Test("the values of Core Foundation for a chain and an error") func coreFoundation() async throws {
        let authority = try TestCertificateAuthority()
        let der = Data(authority.root.der) as CFData
        let certificate = try #require(SecCertificateCreateWithData(nil, der))
        var made: SecTrust?
        #expect(SecTrustCreateWithCertificates(certificate, SecPolicyCreateBasicX509(), &made) == errSecSuccess)
        let trust = try #require(made)
        var error: CFError?
        #expect(!SecTrustEvaluateWithError(trust, &error))
        #expect(CFErrorGetCode(error) == -67843)
        let failure = try #require(error)
        #expect(CFErrorGetDomain(failure) == failure.domain as CFString)
        #expect(CFErrorCopyDescription(failure) == failure.localizedDescription as CFString)
        #expect(CFErrorCopyFailureReason(failure) == failure.localizedFailureReason.map { $0 as CFString })
        #expect(CFErrorCopyUserInfo(error)?.count == error?.userInfo.count)
        #expect(CFErrorCopyDescription(failure) as String == failure.localizedDescription)
        #expect(CFErrorGetDomain(failure) as String == failure.domain)
        #expect(CFErrorGetCode(nil) == 0 && CFErrorGetDomain(nil) == nil && CFErrorCopyUserInfo(nil) == nil)
        #expect(CFErrorCopyDescription(nil) == nil && CFErrorCopyFailureReason(nil) == nil)
        #expect(CFArrayGetCount(SecTrustCopyCertificateChain(trust)) == 1)
        #expect(CFArrayGetCount(nil) == 0)
        let bytes = SecCertificateCopyData(certificate)
        #expect(CFDataGetLength(bytes) == authority.root.der.count)
        let pointer: UnsafePointer<UInt8> = CFDataGetBytePtr(bytes)
        #expect(Data(bytes: pointer, count: CFDataGetLength(bytes)) == Data(authority.root.der))
        #expect(CFDataGetLength(nil) == 0 && CFDataGetBytePtr(nil) == nil)
        #expect(CFEqual(certificate, SecCertificateCreateWithData(nil, der)))
        #expect(!CFEqual(certificate, trust) && !CFEqual(certificate, nil) && CFEqual(nil, nil))
        let key = try #require(SecTrustCopyKey(trust))
        let bits = (SecKeyCopyAttributes(key) as? [CFString: Any])?[kSecAttrKeySizeInBits] as? Int
        #expect(bits.map { ($0 + 7) / 8 } == SecKeyGetBlockSize(key))
        let result = await withCheckedContinuation { continuation in
            _ = SecTrustEvaluateAsync(trust, DispatchQueue(label: "trust")) { continuation.resume(returning: $1) }
        }
        #expect(result == .recoverableTrustFailure)
    }

    private func load(_ server: ScriptedServer, _ delegate: any URLSessionDelegate) async throws -> String {
        let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "https://localhost:\(server.port)/"))
        return String(decoding: try await session.data(from: url).0, as: UTF8.self)
    }

    // AUTH-30
    @Test func keys() async throws {
        let identity = try TrustedAuthority.authority.issue(.localhost)
        let server = try ScriptedServer.answering(.text("hello"), tls: TLSServerOptions(identity))
        defer { server.stop() }
        let certificate = try #require(SecCertificateCreateWithData(nil, Data(identity.certificate.der) as CFData))
        let key = try #require(SecCertificateCopyKey(certificate))
        let bytes = try #require(SecKeyCopyExternalRepresentation(key, nil)) as Data
        #expect(try await load(server, KeyPinner(keys: [bytes])) == "hello")
        let error = await #expect(throws: URLError.self) { try await load(server, KeyPinner(keys: [Data([1])])) }
        #expect(error?.code == .cancelled)
    }

    // AUTH-30
    @Test("the bytes of a certificate") func certificate() async throws {
        let identity = try TrustedAuthority.authority.issue(.localhost)
        let server = try ScriptedServer.answering(.text("hello"), tls: TLSServerOptions(identity))
        defer { server.stop() }
        let der = Data(identity.certificate.der)
        #expect(try await load(server, CertificatePinner(pinned: der)) == "hello")
        let other = CertificatePinner(pinned: Data([1]))
        let error = await #expect(throws: URLError.self) { try await load(server, other) }
        #expect(error?.code == .cancelled)
    }

    // AUTH-30
    @Test func ownAuthority() async throws {
        let authority = try TestCertificateAuthority()
        let server = try ScriptedServer.answering(.text("hello"), tls: TLSServerOptions(authority: authority))
        defer { server.stop() }
        #expect(try await load(server, OwnAuthority(root: Data(authority.root.der))) == "hello")
        let otherAuthority = try TestCertificateAuthority()
        let error = await #expect(throws: URLError.self) {
            try await load(server, OwnAuthority(root: Data(otherAuthority.root.der)))
        }
        #expect(error?.code == .cancelled)
    }
}
