/// Encodes DER. Each function creates one element.
enum DER {
    static func element(_ tag: UInt8, _ content: [UInt8]...) -> [UInt8] {
        let content = Array(content.joined())
        guard content.count >= 0x80 else { return [tag, UInt8(content.count)] + content }
        var octets: [UInt8] = []
        var rest = content.count
        while rest > 0 {
            octets.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(octets.count)] + octets + content
    }

    static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, Array(parts.joined())) }
    static func integer(_ octets: UInt8...) -> [UInt8] { element(2, octets) }
    static func identifier(_ octets: UInt8...) -> [UInt8] { element(6, octets) }
    static func bits(_ octets: UInt8...) -> [UInt8] { element(3, octets) }
    static func text(_ tag: UInt8, _ text: String) -> [UInt8] { element(tag, Array(text.utf8)) }
}

/// The parts of a certificate (RFC 5280 §4.1), to be modified individually.
struct CertificateParts {
    static let algorithm = DER.sequence(DER.identifier(0x2A, 0x03))
    static let attribute = DER.sequence(DER.identifier(0x55, 4, 3), DER.text(12, "a"))
    /// A part of a Name.
    static func attributes(_ attributes: [UInt8]...) -> [UInt8] { DER.element(0x31, Array(attributes.joined())) }
    var version: [UInt8] = DER.element(0xA0, DER.integer(2))
    var serial = DER.integer(1)
    var algorithm = Self.algorithm
    var issuer = DER.sequence()
    var validity = DER.sequence(DER.text(0x17, "200101000000Z"), DER.text(0x18, "20500101000000Z"))
    var subject = DER.sequence(Self.attributes(Self.attribute))
    var key = DER.sequence(Self.algorithm, DER.bits(0, 1))
    var identifiers: [UInt8] = []
    /// Encoded Extensions. If empty, the list is omitted.
    var extensions: [[UInt8]] = []
    var outerAlgorithm = Self.algorithm
    var signature = DER.bits(0, 1)

    var der: [UInt8] {
        let list = extensions.isEmpty ? [] : DER.element(0xA3, DER.sequence(Array(extensions.joined())))
        let inner = [version, serial, algorithm, issuer, validity, subject, key, identifiers, list].joined()
        return DER.sequence(DER.sequence(Array(inner)), outerAlgorithm, signature)
    }

    /// An Extension below 2.5.29.
    static func usual(_ number: UInt8, _ value: [UInt8], isCritical: Bool = false) -> [UInt8] {
        DER.sequence(
            DER.identifier(0x55, 0x1D, number), isCritical ? DER.element(1, [0xFF]) : [], DER.element(4, value))
    }

    static func with(_ change: (inout Self) -> Void) -> [UInt8] {
        var parts = Self()
        change(&parts)
        return parts.der
    }
}
