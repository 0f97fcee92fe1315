internal import CLoadingTLS
internal import LoadingSemantics

extension CertificateFacts {
    /// - Parameter hasNames: Whether to extract the names, of which there may be thousands.
    init(_ certificate: Certificate, hasNames: Bool) {
        let facts = clt_certificate_facts(certificate.pointer)
        // With malformed times, the certificate is never valid.
        let validity = certificate.validity ?? (from: .max, until: .min)
        self.init(
            names: hasNames ? certificate.alternativeNames : [], key: Key(facts), signature: SignatureHash(facts),
            validFrom: validity.from, validUntil: validity.until,
            purposes: facts.has_purposes ? Purposes(facts) : nil, isAuthority: facts.is_authority,
            pathLength: facts.path_length < 0 ? nil : Int(facts.path_length), isSelfIssued: facts.is_self_issued,
            encoding: CertificateEncoding(der: certificate.der))
    }
}

extension CertificateFacts.Key {
    fileprivate init(_ facts: clt_facts) {
        self =
            switch facts.key {
            case CLT_RSA: .rsa(bits: facts.key_bits)
            case CLT_ELLIPTIC: .elliptic(bits: facts.key_bits)
            default: .other
            }
    }
}

extension CertificateFacts.SignatureHash {
    fileprivate init(_ facts: clt_facts) {
        self =
            switch facts.signature {
            case CLT_SHA2: .sha2
            case CLT_EDWARDS: .edwards
            case CLT_SHA1: .sha1
            default: .other
            }
    }
}

extension CertificateFacts.Purposes {
    fileprivate init(_ facts: clt_facts) {
        self = []
        if facts.is_for_servers { insert(.server) }
        if facts.is_for_anything { insert(.any) }
    }
}

extension Certificate {
    fileprivate var alternativeNames: [CertificateFacts.Name] {
        guard let names = clt_certificate_names(pointer) else { return [] }
        defer { clt_names_free(names) }
        return (0..<clt_names_count(names)).map { index in
            var bytes: UnsafePointer<UInt8>?
            var count = 0
            let kind = clt_names_get(names, index, &bytes, &count)
            let value = UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
            return switch kind {
            case CLT_HOST_NAME: .host(String(decoding: value, as: UTF8.self))
            case CLT_ADDRESS_NAME: .address(Array(value))
            default: .other
            }
        }
    }
}
