/// The certificate extensions that are validated (RFC 5280 §4.2).
enum CertificateExtension: UInt8 {
    // Raw values are the last octets of the object identifiers below 2.5.29.
    case subjectKeyIdentifier = 14
    case keyUsage = 15
    case subjectAlternativeName = 17
    case basicConstraints = 19
    case nameConstraints = 30
    case distributionPoints = 31
    case policies = 32
    case policyMappings = 33
    case authorityKeyIdentifier = 35
    case policyConstraints = 36
    case extendedKeyUsage = 37
    case inhibitAnyPolicy = 54
    /// 1.3.6.1.5.5.7.1.1, which is not below 2.5.29.
    case authorityInformationAccess = 255

    init?(_ identifier: ArraySlice<UInt8>) {
        if identifier.count == 3, identifier.starts(with: [0x55, 0x1D]), let last = identifier.last, last < 0x80 {
            self.init(rawValue: last)
        } else if identifier.elementsEqual([0x2B, 6, 1, 5, 5, 7, 1, 1]) {
            self = .authorityInformationAccess
        } else {
            return nil
        }
    }

    /// Whether the value is well-formed and complete. `NameConstraints` parses its own extension.
    func isWellFormed(_ value: ArraySlice<UInt8>) -> Bool {
        var reader = DERReader(value)
        return isWellFormed(&reader) && reader.isAtEnd
    }

    private func isWellFormed(_ reader: inout DERReader) -> Bool {
        typealias Tag = DERReader.Tag
        switch self {
        case .subjectKeyIdentifier: return reader.take(Tag.octetString) != nil
        case .keyUsage:
            guard let bits = reader.take(Tag.bitString) else { return false }
            return (2...3).contains(bits.count) && DERReader.isBitString(bits)
        case .subjectAlternativeName: return Self.takeNames(&reader, Tag.sequence)
        case .basicConstraints:
            guard var constraints = reader.enter() else { return false }
            return constraints.takeIfPresent(Tag.boolean) { DERReader.boolean($0) != nil }
                && constraints.takeIfPresent(Tag.integer, DERReader.isCount) && constraints.isAtEnd
        case .nameConstraints: return reader.enter() != nil
        case .distributionPoints: return Self.takeSequences(&reader) { Self.isDistributionPoint(&$0) }
        case .policies:
            return Self.takeSequences(&reader) { policy in
                policy.take(Tag.objectIdentifier) != nil && policy.takeIfPresent(Tag.sequence) { _ in true }
            }
        case .policyMappings:
            return Self.takeSequences(&reader) { mapping in
                mapping.take(Tag.objectIdentifier) != nil && mapping.take(Tag.objectIdentifier) != nil
            }
        case .authorityKeyIdentifier:
            guard var parts = reader.enter() else { return false }
            return Self.isAuthorityKeyIdentifier(&parts) && parts.isAtEnd
        case .policyConstraints:
            guard var constraints = reader.enter() else { return false }
            return constraints.takeIfPresent(Tag.implicit(0), DERReader.isCount)
                && constraints.takeIfPresent(Tag.implicit(1), DERReader.isCount) && constraints.isAtEnd
        case .extendedKeyUsage:
            guard var purposes = reader.enter() else { return false }
            return purposes.takeAll { $0.tag == Tag.objectIdentifier }
        case .inhibitAnyPolicy: return reader.take(Tag.integer).map(DERReader.isCount) ?? false
        case .authorityInformationAccess: return Self.takeSequences(&reader) { Self.isAccess(&$0) }
        }
    }

    /// A non-empty sequence of sequences of that form.
    private static func takeSequences(_ reader: inout DERReader, _ isOne: (inout DERReader) -> Bool) -> Bool {
        guard var sequences = reader.enter() else { return false }
        return sequences.takeAll { element in
            guard element.tag == DERReader.Tag.sequence else { return false }
            var one = DERReader(element.content)
            return isOne(&one) && one.isAtEnd
        }
    }

    /// Non-empty GeneralNames.
    private static func takeNames(_ reader: inout DERReader, _ tag: UInt8) -> Bool {
        guard var names = reader.enter(tag) else { return false }
        return names.takeAll(isGeneralName)
    }

    /// A GeneralName, by its tag. Some CAs encode a URI as an explicitly tagged IA5String.
    static func isGeneralName(_ element: DERReader.Element) -> Bool {
        typealias Tag = DERReader.Tag
        switch element.tag {
        case Tag.explicit(0), Tag.implicit(1), Tag.implicit(2), Tag.explicit(3), Tag.explicit(4), Tag.explicit(5),
            Tag.implicit(6), Tag.implicit(7), Tag.implicit(8):
            return true
        case Tag.explicit(6):
            var inner = DERReader(element.content)
            return inner.take(Tag.ia5String) != nil && inner.isAtEnd
        default: return false
        }
    }

    /// A distribution point: it has a name or a cRLIssuer.
    private static func isDistributionPoint(_ point: inout DERReader) -> Bool {
        typealias Tag = DERReader.Tag
        var saysWhere = false
        return point.takeIfPresent(Tag.explicit(0)) { content in
            saysWhere = true
            var location = DERReader(content)
            // nameRelativeToCRLIssuer.
            return
                (location.rest.first == Tag.explicit(1)
                ? location.next() != nil : takeNames(&location, Tag.explicit(0)))
                && location.isAtEnd
        } && point.takeIfPresent(Tag.implicit(1), DERReader.isBitString)
            && point.takeIfPresent(Tag.explicit(2)) { content in
                saysWhere = true
                var names = DERReader(content)
                return names.takeAll(isGeneralName)
            } && saysWhere
    }

    /// A key identifier, and either both of issuer and serial number or neither.
    private static func isAuthorityKeyIdentifier(_ parts: inout DERReader) -> Bool {
        typealias Tag = DERReader.Tag
        var (hasIssuer, hasSerial) = (false, false)
        return parts.takeIfPresent(Tag.implicit(0)) { _ in true }
            && parts.takeIfPresent(Tag.explicit(1)) { content in
                hasIssuer = true
                var names = DERReader(content)
                return names.takeAll(isGeneralName)
            }
            && parts.takeIfPresent(Tag.implicit(2)) { content in
                hasSerial = true
                return !content.isEmpty
            } && hasIssuer == hasSerial
    }

    /// An access method and a location, which is a URI for the two methods of RFC 5280.
    private static func isAccess(_ description: inout DERReader) -> Bool {
        guard let method = description.take(DERReader.Tag.objectIdentifier), let location = description.next()
        else { return false }
        let isUsual =
            method.count == 8 && method.starts(with: [0x2B, 6, 1, 5, 5, 7, 0x30])
            && (method.last == 1 || method.last == 2)
        return isUsual ? location.tag == DERReader.Tag.implicit(6) : isGeneralName(location)
    }
}
