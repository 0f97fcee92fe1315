import Foundation
import TestSupport
import Testing
import URLLoading

/// Certificates, keys and identities as values.
@Suite struct SecCertificateTests {
    private func certificate(_ certificate: TestCertificate) throws -> SecCertificate {
        try #require(SecCertificateCreateWithData(nil, Data(certificate.der) as CFData))
    }

    private static let names: [CertificateProfile.Name] = [
        .mail("a@example.com"), .dns("example.com"), .mail("b@example.com"),
    ]

    @Test func certificateProperties() throws {
        let from = Date(timeIntervalSince1970: 1_700_000_000)
        let until = Date(timeIntervalSince1970: 1_900_000_000)
        let authority = try TestCertificateAuthority(.authority("Ein  Haus"))
        let identity = try authority.issue(
            CertificateProfile(commonName: "Äpfel", names: Self.names).with {
                $0.validity = .between(from, until)
            })
        let certificate = try certificate(identity.certificate)
        #expect(SecCertificateCopyData(certificate) as Data == Data(identity.certificate.der))
        #expect(SecCertificateCopySubjectSummary(certificate) as String? == "Äpfel")
        var name: CFString?
        #expect(SecCertificateCopyCommonName(certificate, &name) == errSecSuccess)
        #expect(name as String? == "Äpfel")
        var addresses: CFArray?
        #expect(SecCertificateCopyEmailAddresses(certificate, &addresses) == errSecSuccess)
        #expect(addresses as? [String] == ["a@example.com", "b@example.com"])
        #expect(SecCertificateCopyNotValidBeforeDate(certificate) as Date? == from)
        #expect(SecCertificateCopyNotValidAfterDate(certificate) as Date? == until)
        #expect((SecCertificateCopySerialNumberData(certificate, nil) as Data?)?.isEmpty == false)
        // Names are compared without case and doubled spaces.
        let root = try self.certificate(authority.root)
        #expect(
            SecCertificateCopyNormalizedIssuerSequence(certificate)
                == SecCertificateCopyNormalizedSubjectSequence(root))
        let other = try self.certificate(TestCertificateAuthority(.authority("ein haus")).root)
        #expect(
            SecCertificateCopyNormalizedSubjectSequence(root) == SecCertificateCopyNormalizedSubjectSequence(other))
        #expect(root != other)
    }

    @Test func withoutAName() throws {
        let certificate = try certificate(
            TestIdentity.selfSigned(CertificateProfile(names: ["example.com"])).certificate)
        #expect(SecCertificateCopySubjectSummary(certificate) as String? == "example.com")
        var name: CFString? = "before"
        #expect(SecCertificateCopyCommonName(certificate, &name) == errSecSuccess)
        #expect(name == nil)
    }

    @Test func noCertificate() throws {
        let der = try TestIdentity.selfSigned(.localhost).certificate.der
        for bytes in [[], [0x30], Array(der.dropLast()), der + [0]] as [[UInt8]] {
            #expect(SecCertificateCreateWithData(nil, Data(bytes) as CFData) == nil)
        }
    }

    // TLS-4, RFC 5280 §4.1: what a library reads that is not so strict is no certificate either
    @Test(
        "octets that are changed in one place",
        arguments: [
            ("the version", [0xA0, 0x03, 0x02, 0x01, 0x02], [0xA0, 0x03, 0x02, 0x01, 0x03]),
            ("a truth value", [0x01, 0x01, 0xFF], [0x01, 0x01, 0x01]),
            ("a date", Array("240101".utf8), Array("249901".utf8)),
            // The constraints of the authority, which are critical, are those of none.
            ("an extension", [0x30, 0x03, 0x01, 0x01, 0xFF], [0x31, 0x03, 0x01, 0x01, 0xFF]),
        ] as [(String, [UInt8], [UInt8])])
    func changedInOnePlace(what: String, from: [UInt8], to: [UInt8]) throws {
        let start = Date(timeIntervalSince1970: 1_704_067_200)
        let der = try TestCertificateAuthority(
            .authority("Root").with { $0.validity = .between(start, start.addingTimeInterval(86_400)) }
        ).root.der
        #expect(SecCertificateCreateWithData(nil, Data(der) as CFData) != nil)
        let place = try #require(der.indices.first { der[$0...].starts(with: from) })
        let changed = der[..<place] + to + der[(place + from.count)...]
        #expect(SecCertificateCreateWithData(nil, Data(changed) as CFData) == nil)
    }

    @Test("the length of a certificate has one form") func lengths() throws {
        let der = try TestIdentity.selfSigned(.localhost).certificate.der
        #expect(der.starts(with: [0x30, 0x82]))
        let long = [0x30, 0x83, 0] + der.dropFirst(2)
        #expect(SecCertificateCreateWithData(nil, Data(long) as CFData) == nil)
        let endless = [0x30, 0x80] + der.dropFirst(4) + [0, 0]
        #expect(SecCertificateCreateWithData(nil, Data(endless) as CFData) == nil)
    }

    @Test(
        arguments: [
            (TestPrivateKey.Kind.ellipticP256, kSecAttrKeyTypeECSECPrimeRandom as String, 256, 65, 97),
            (.elliptic("secp384r1"), kSecAttrKeyTypeECSECPrimeRandom as String, 384, 97, 145),
            (.elliptic("secp521r1"), kSecAttrKeyTypeECSECPrimeRandom as String, 521, 133, 199),
            (.rsa(bits: 2048), kSecAttrKeyTypeRSA as String, 2048, 270, nil),
        ] as [(TestPrivateKey.Kind, String, Int, Int, Int?)])
    func keys(kind: TestPrivateKey.Kind, type: String, bits: Int, length: Int, privateLength: Int?) throws {
        let made = try TestIdentity.selfSigned(.client("somebody").with { $0.key = kind })
        let identity = try identity(made)
        var privateKey: SecKey?
        #expect(SecIdentityCopyPrivateKey(identity, &privateKey) == errSecSuccess)
        let secret = try #require(privateKey)
        let open = try #require(SecKeyCopyPublicKey(secret))
        #expect(open == SecCertificateCopyKey(try certificate(made.certificate)))
        #expect(open != secret)
        for (key, half, count) in [
            (open, kSecAttrKeyClassPublic, length), (secret, kSecAttrKeyClassPrivate, privateLength),
        ] as [(SecKey, CFString, Int?)] {
            let attributes = try #require(SecKeyCopyAttributes(key))
            #expect(attributes[kSecAttrKeyType] as? String == type)
            #expect(attributes[kSecAttrKeyClass] as? String == half as String)
            #expect(attributes[kSecAttrKeySizeInBits] as? Int == bits)
            let bytes = try #require(SecKeyCopyExternalRepresentation(key, nil))
            if let count { #expect(bytes.count == count) }
            #expect(SecKeyCreateWithData(bytes, attributes, nil) == key)
            var error: Unmanaged<CFError>?
            #expect(SecKeyCreateWithData(Data((bytes as Data).dropLast()) as CFData, attributes, &error) == nil)
            #expect(error?.takeRetainedValue().code == Int(errSecParam))
        }
    }

    private func identity(_ identity: TestIdentity) throws -> SecIdentity {
        let (status, items) = try read(identity.pkcs12(password: "secret"), password: "secret")
        #expect(status == errSecSuccess)
        return try #require(items?.first?[kSecImportItemIdentity as String] as? SecIdentity)
    }

    private func read(_ archive: [UInt8], password: String) throws -> (OSStatus, [[String: Any]]?) {
        var items: CFArray?
        let options = [kSecImportExportPassphrase as String: password]
        let status = SecPKCS12Import(Data(archive) as CFData, options as CFDictionary, &items)
        return (status, items as? [[String: Any]])
    }

    @Test func archives() throws {
        let made = try TestCertificateAuthority().intermediate().issue(.client("somebody"))
        let archive = try made.pkcs12(password: "secret", friendlyName: "a friend")
        let (status, items) = try read(archive, password: "secret")
        #expect(status == errSecSuccess)
        let item = try #require(items?.first)
        #expect(items?.count == 1)
        let chain = try made.chain.map { try certificate($0) }
        #expect(item[kSecImportItemCertChain as String] as? [SecCertificate] == chain)
        #expect(item[kSecImportItemLabel as String] as? String == "a friend")
        let trust = try #require(item[kSecImportItemTrust as String] as? SecTrust)
        #expect(SecTrustGetCertificateAtIndex(trust, 0) == chain[0])
        let identity = try #require(item[kSecImportItemIdentity as String] as? SecIdentity)
        var leaf: SecCertificate?
        #expect(SecIdentityCopyCertificate(identity, &leaf) == errSecSuccess)
        #expect(leaf == chain[0])
        #expect(try read(archive, password: "other").0 == errSecAuthFailed)
        #expect(try read(archive, password: "").0 == errSecAuthFailed)
        #expect(try read(Array(archive.dropLast(40)), password: "secret").0 == errSecDecode)
        #expect(try read([], password: "secret").0 == errSecDecode)
    }

    #if compiler(>=6.2)
        @Test("an archive whose encryption OpenSSL does not have", .needs(.openssl))
        func archiveOfAnUnsupportedEncryption() async throws {
            let authority = try TestCertificateAuthority()
            let files = try CertificateFiles(authority.issue(.client("somebody")), of: authority)
            let folder = try TemporaryDirectory()
            let file = folder.file("old.p12")
            _ = try ChildProcess.run(
                "/usr/bin/openssl",
                [
                    "pkcs12", "-export", "-legacy", "-in", files.chain.path, "-inkey", files.privateKey.path,
                    "-keypbe", "PBE-SHA1-RC2-40", "-passout", "pass:secret", "-out", file.path,
                ])
            let archive = try Array(Data(contentsOf: file))
            withExtendedLifetime((files, folder)) {}
            #expect(try read(archive, password: "secret").1?.count == 1)
            await #expect(processExitsWith: .success) { [archive = archive as [UInt8]] in
                setenv("OPENSSL_MODULES", "/nonexistent", 1)
                var items: CFArray?
                let options = [kSecImportExportPassphrase as String: "secret"]
                let status = SecPKCS12Import(Data(archive) as CFData, options as CFDictionary, &items)
                exit(status == errSecUnsupportedFormat && items == nil ? EXIT_SUCCESS : EXIT_FAILURE)
            }
        }
    #endif

    // AUTH-21
    @Test func credentials() throws {
        let identity = try identity(TestCertificateAuthority().intermediate().issue(.client("somebody")))
        let credential = URLCredential(identity: identity, certificates: nil, persistence: .permanent)
        #expect(credential.identity === identity)
        #expect(credential.certificates.count == 1)
        #expect(credential.user == nil)
        #expect(credential.password == nil)
        #expect(!credential.hasPassword)
        #expect(credential == URLCredential(identity: identity, certificates: nil, persistence: .permanent))
        #expect(credential != URLCredential(identity: identity, certificates: [], persistence: .permanent))
        var trust: SecTrust?
        var leaf: SecCertificate?
        _ = SecIdentityCopyCertificate(identity, &leaf)
        #expect(SecTrustCreateWithCertificates(try #require(leaf), nil, &trust) == errSecSuccess)
        let trusting = URLCredential(trust: try #require(trust))
        #expect(trusting.identity == nil)
        #expect(trusting == URLCredential(forTrust: try #require(trust)))
        #expect(trusting != credential)
    }

    @Test func statusTexts() {
        #expect(SecCopyErrorMessageString(errSecAuthFailed, nil) as String? == "The password is not correct.")
        #expect(SecCopyErrorMessageString(1, nil) == nil)
    }
}
