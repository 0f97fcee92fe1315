internal import CTestTLS

/// A certificate with its private key and its intermediate certificates.
package struct TestIdentity: Sendable, Hashable {
    package let certificate: TestCertificate
    package let privateKey: TestPrivateKey
    /// The intermediate certificates, nearest first, without the root.
    package let intermediates: [TestCertificate]

    /// The chain that a server sends: its certificate, then the intermediates.
    package var chain: [TestCertificate] { [certificate] + intermediates }
    package var chainPEM: String { chain.map(\.pem).joined() }

    package init(certificate: TestCertificate, privateKey: TestPrivateKey, intermediates: [TestCertificate] = []) {
        self.certificate = certificate
        self.privateKey = privateKey
        self.intermediates = intermediates
    }

    /// Creates a certificate for a new key, signed by `issuer` or self-signed.
    init(profile: CertificateProfile, issuer: TestIdentity?, intermediates: [TestCertificate]) throws {
        let key = try TestPrivateKey(profile.key)
        self.init(
            certificate: try TestCertificate(profile: profile, key: key, issuer: issuer),
            privateKey: key,
            intermediates: intermediates)
    }

    /// A self-signed certificate.
    package static func selfSigned(_ profile: CertificateProfile) throws -> TestIdentity {
        try TestIdentity(profile: profile, issuer: nil, intermediates: [])
    }

    /// Another self-signed certificate for the same key.
    package func renewed(as profile: CertificateProfile) throws -> TestCertificate {
        try TestCertificate(profile: profile, key: privateKey, issuer: nil)
    }

    /// The identity as a PKCS #12 archive (RFC 7292).
    package func pkcs12(password: String, friendlyName: String = "test") throws -> [UInt8] {
        guard let chain = ctt_chain_create() else { throw OpenSSLError("make a chain") }
        defer { ctt_chain_free(chain) }
        for certificate in intermediates where ctt_chain_append(chain, certificate.der, certificate.der.count) != 1 {
            throw OpenSSLError("append a certificate")
        }
        return try takingBytes("make a PKCS #12 archive") {
            ctt_make_pkcs12(
                password, friendlyName, certificate.der, certificate.der.count, privateKey.der, privateKey.der.count,
                chain, &$0)
        }
    }
}

extension TestCertificate {
    fileprivate init(profile: CertificateProfile, key: TestPrivateKey, issuer: TestIdentity?) throws {
        guard let builder = ctt_builder_create() else { throw OpenSSLError("make a certificate") }
        defer { ctt_builder_free(builder) }
        let bounds = profile.validity.bounds
        guard ctt_builder_set_validity(builder, bounds.notBefore, bounds.notAfter) == 1 else {
            throw OpenSSLError("set the validity")
        }
        guard ctt_builder_set_version(builder, Int32(profile.version)) == 1 else {
            throw OpenSSLError("set the version")
        }
        if let commonName = profile.commonName.map({ Array($0.utf8) }),
            ctt_builder_set_common_name(builder, commonName, commonName.count) != 1
        {
            throw OpenSSLError("set the common name")
        }
        for name in profile.names {
            let (kind, bytes) = name.encoded
            guard ctt_builder_add_name(builder, Int32(kind), bytes, bytes.count) == 1 else {
                throw OpenSSLError("add the name \(name)")
            }
        }
        for purpose in profile.purposes where ctt_builder_add_purpose(builder, purpose.objectIdentifier) != 1 {
            throw OpenSSLError("add the purpose \(purpose)")
        }
        _ = ctt_builder_set_authority(
            builder, profile.isAuthority ? 1 : 0, Int32(clamping: profile.pathLength ?? -1))
        for (name, value) in profile.extensions.sorted(by: { $0.key < $1.key })
        where ctt_builder_add_extension(builder, name, value) != 1 {
            throw OpenSSLError("add the extension \(name)")
        }
        der = try takingBytes("sign a certificate") {
            ctt_builder_sign(
                builder, key.der, key.der.count, issuer?.certificate.der, issuer?.certificate.der.count ?? 0,
                issuer?.privateKey.der, issuer?.privateKey.der.count ?? 0, profile.digest.rawValue, &$0)
        }
    }
}

extension CertificateProfile.Name {
    fileprivate var encoded: (kind: Int, bytes: [UInt8]) {
        switch self {
        case .dns(let name): (Int(CTT_NAME_DNS), Array(name.utf8))
        case .rawDNS(let bytes): (Int(CTT_NAME_DNS), bytes)
        case .address(let bytes): (Int(CTT_NAME_IP), bytes)
        case .uri(let uri): (Int(CTT_NAME_URI), Array(uri.utf8))
        case .mail(let address): (Int(CTT_NAME_MAIL), Array(address.utf8))
        }
    }
}
