/// The encoding of a certificate, by the grammar of RFC 5280 §4.1: properties that TLS libraries do not report.
///
/// As strict as Apple's parser, and stricter than libraries that also accept BER: lengths and booleans must be DER, and
/// unknown versions and malformed critical extensions are errors. What Apple's parser leaves to the evaluation is
/// recorded here: duplicate extensions, and malformed extensions that are not critical.
package struct CertificateEncoding: Sendable, Equatable {
    /// 1, 2 or 3.
    package var version = 3
    /// Whether the subject is not empty.
    package var hasSubject = true
    /// Whether the subject alternative name extension is present and critical.
    package var hasCriticalNames = false
    package var hasDuplicateExtension = false
    /// Whether a known extension is malformed.
    package var hasUnreadableExtension = false
    package var constraints = NameConstraints()

    /// The name constraints of a CA (RFC 5280 §4.2.1.10), as far as the rules need them.
    package struct NameConstraints: Sendable, Equatable {
        /// Excluded host names, which include their subdomains, in lower case.
        package var excludedHosts: [[UInt8]] = []
        /// Whether the constraints are critical and have an unsupported name form.
        package var isUnsupported = false

        package init() {}
    }

    package init() {}

    /// Returns nil if the octets are not exactly one certificate.
    package init?(der: [UInt8]) {
        var all = DERReader(der[...])
        guard var outer = all.enter(), all.isAtEnd, var certificate = outer.enter(),
            Self.takeAlgorithm(&outer), Self.takeBitString(&outer), outer.isAtEnd,
            readVersion(&certificate), let serial = certificate.take(DERReader.Tag.integer),
            // RFC 5280 allows 20 octets; some CAs have used more.
            (1...37).contains(serial.count),
            Self.takeAlgorithm(&certificate), Self.takeName(&certificate) != nil, Self.takeValidity(&certificate),
            let hasSubject = Self.takeName(&certificate), Self.takeKey(&certificate),
            // issuerUniqueID and subjectUniqueID.
            certificate.takeIfPresent(DERReader.Tag.implicit(1), DERReader.isBitString),
            certificate.takeIfPresent(DERReader.Tag.implicit(2), DERReader.isBitString)
        else { return nil }
        self.hasSubject = hasSubject
        let hasReadExtensions = certificate.takeIfPresent(DERReader.Tag.explicit(3)) { readExtensions($0) }
        guard hasReadExtensions, certificate.isAtEnd else { return nil }
    }

    /// The version is 1 if it is omitted. DER forbids encoding the default.
    private mutating func readVersion(_ certificate: inout DERReader) -> Bool {
        version = 1
        return certificate.takeIfPresent(DERReader.Tag.explicit(0)) { content in
            var reader = DERReader(content)
            guard let number = reader.take(DERReader.Tag.integer), reader.isAtEnd, number.count == 1,
                let value = number.first, value == 1 || value == 2
            else { return false }
            version = Int(value) + 1
            return true
        }
    }

    private static func takeAlgorithm(_ reader: inout DERReader) -> Bool {
        guard var algorithm = reader.enter(), algorithm.take(DERReader.Tag.objectIdentifier) != nil else {
            return false
        }
        return (algorithm.isAtEnd || algorithm.next() != nil) && algorithm.isAtEnd
    }

    /// Whether a Name is not empty; nil if it is malformed. Its sets are not empty and contain pairs of attribute type
    /// and value (RFC 5280 §4.1.2.4).
    private static func takeName(_ reader: inout DERReader) -> Bool? {
        guard var name = reader.enter() else { return nil }
        if name.isAtEnd { return false }
        let isName = name.takeAll { part in
            guard part.tag == DERReader.Tag.set else { return false }
            var attributes = DERReader(part.content)
            return attributes.takeAll { attribute in
                guard attribute.tag == DERReader.Tag.sequence else { return false }
                var pair = DERReader(attribute.content)
                return pair.take(DERReader.Tag.objectIdentifier) != nil && pair.next() != nil && pair.isAtEnd
            }
        }
        return isName ? true : nil
    }

    private static func takeBitString(_ reader: inout DERReader) -> Bool {
        reader.take(DERReader.Tag.bitString).map(DERReader.isBitString) ?? false
    }

    private static func takeKey(_ reader: inout DERReader) -> Bool {
        guard var key = reader.enter() else { return false }
        return takeAlgorithm(&key) && takeBitString(&key) && key.isAtEnd
    }

    /// The TLS library checks the format of the times.
    private static func takeValidity(_ reader: inout DERReader) -> Bool {
        guard var validity = reader.enter() else { return false }
        for _ in 0..<2 {
            guard let time = validity.next(), [DERReader.Tag.utcTime, DERReader.Tag.generalizedTime].contains(time.tag)
            else { return false }
        }
        return validity.isAtEnd
    }

    private mutating func readExtensions(_ content: ArraySlice<UInt8>) -> Bool {
        var reader = DERReader(content)
        guard var extensions = reader.enter(), reader.isAtEnd else { return false }
        var known: Set<ArraySlice<UInt8>> = []
        return extensions.takeAll { element in
            guard let (identifier, isCritical, value) = Self.parts(of: element) else { return false }
            if !known.insert(identifier).inserted { hasDuplicateExtension = true }
            if !read(CertificateExtension(identifier), isCritical: isCritical, value) {
                if isCritical { return false }
                hasUnreadableExtension = true
            }
            return true
        }
    }

    private static func parts(
        of element: DERReader.Element
    ) -> (identifier: ArraySlice<UInt8>, isCritical: Bool, value: ArraySlice<UInt8>)? {
        guard element.tag == DERReader.Tag.sequence else { return nil }
        var reader = DERReader(element.content)
        var isCritical = false
        guard let identifier = reader.take(DERReader.Tag.objectIdentifier),
            reader.takeIfPresent(
                DERReader.Tag.boolean,
                {
                    guard let value = DERReader.boolean($0) else { return false }
                    isCritical = value
                    return true
                }),
            let value = reader.take(DERReader.Tag.octetString), reader.isAtEnd
        else { return nil }
        return (identifier, isCritical, value)
    }

    /// Whether a known extension is well-formed. Unknown extensions always are.
    private mutating func read(
        _ known: CertificateExtension?, isCritical: Bool, _ value: ArraySlice<UInt8>
    ) -> Bool {
        guard let known else { return true }
        if known == .nameConstraints {
            guard let read = NameConstraints(value, isCritical: isCritical) else { return false }
            constraints = read
            return true
        }
        guard known.isWellFormed(value) else { return false }
        if known == .subjectAlternativeName { hasCriticalNames = isCritical }
        return true
    }
}

extension CertificateEncoding.NameConstraints {
    /// Returns nil if the constraints are malformed.
    fileprivate init?(_ value: ArraySlice<UInt8>, isCritical: Bool) {
        var outer = DERReader(value)
        guard var trees = outer.enter(), outer.isAtEnd,
            trees.takeIfPresent(DERReader.Tag.explicit(0), { read($0, isCritical: isCritical, isExcluded: false) }),
            trees.takeIfPresent(DERReader.Tag.explicit(1), { read($0, isCritical: isCritical, isExcluded: true) }),
            trees.isAtEnd
        else { return nil }
    }

    private mutating func read(_ content: ArraySlice<UInt8>, isCritical: Bool, isExcluded: Bool) -> Bool {
        var trees = DERReader(content)
        return trees.takeAll { tree in
            guard tree.tag == DERReader.Tag.sequence else { return false }
            var reader = DERReader(tree.content)
            guard let base = reader.next(), CertificateExtension.isGeneralName(base),
                // `minimum` must be 0 and `maximum` absent.
                reader.takeIfPresent(DERReader.Tag.implicit(0), { $0.elementsEqual([0]) }), reader.isAtEnd
            else { return false }
            switch base.tag {
            case DERReader.Tag.implicit(2):
                if isExcluded { excludedHosts.append(base.content.map(asciiLowercase)) }
            case DERReader.Tag.implicit(1), DERReader.Tag.explicit(4), DERReader.Tag.implicit(6),
                DERReader.Tag.implicit(7):
                // The TLS library checks rfc822Name, directoryName, URI and iPAddress.
                break
            default:
                if isCritical { isUnsupported = true }
            }
            return true
        }
    }
}
