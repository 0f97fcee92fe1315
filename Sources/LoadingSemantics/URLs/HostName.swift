/// Converts percent-encoded and internationalized hosts to ASCII.
///
/// The public `URL` maps hosts by UTS 46 during parsing. The hosts here come from `Location` fields and
/// percent-encoding. The only mapping is to lower case, and of ideographic full stops. A host that needs another one is
/// refused: encoded as it is, it would be another host.
enum HostName {
    /// Returns nil if the text is not a valid host name, which is treated as an unknown host (ERR-15).
    static func ascii(_ host: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard let decoded = PercentEncoding.decode(host),
            let name = String(validating: decoded, as: UTF8.self)?.lowercased()
        else { return nil }
        var result: [UInt8] = []
        let isDot = { (scalar: Unicode.Scalar) in
            scalar == "." || scalar == "\u{3002}" || scalar == "\u{FF0E}" || scalar == "\u{FF61}"
        }
        let labels = name.unicodeScalars.split(omittingEmptySubsequences: false, whereSeparator: isDot)
        for (index, label) in labels.enumerated() {
            if index > 0 { result.append(UInt8(ascii: ".")) }
            if label.allSatisfy(\.isASCII) {
                result += label.lazy.map { UInt8(truncatingIfNeeded: $0.value) }
            } else {
                // A label has at most 63 characters (RFC 1035 §2.3.4), and the encoding is never shorter.
                if label.count > 63 || needsMapping(label) { return nil }
                let encoded = Punycode.encode(Array(label))
                if encoded.count > 59 { return nil }
                result += "xn--".utf8
                result += encoded
            }
        }
        return result.allSatisfy(URLBytes.isRegisteredName) ? result : nil
    }

    /// Whether UTS 46 maps a character of the label, other than to lower case, or the label is not in NFC (RFC 5891
    /// §5.2).
    private static func needsMapping(_ label: some Sequence<Unicode.Scalar>) -> Bool {
        // The last character to which marks are added. Some marks are such characters too.
        var starter: Unicode.Scalar?
        var order: UInt8 = 0
        for scalar in label {
            if changesInMapping(scalar) { return true }
            if let starter, isMark(scalar), composites.contains(String(starter) + String(scalar)) { return true }
            let next = scalar.properties.canonicalCombiningClass.rawValue
            if next == 0 { starter = scalar } else if next < order { return true }
            order = next
        }
        return false
    }

    private static func changesInMapping(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        // IDNA 2008 keeps them.
        case "ß", "ς", "\u{200C}", "\u{200D}": false
        // Jamo, which compose to syllables.
        case "\u{1100}"..."\u{11FF}": true
        default: scalar.properties.changesWhenNFKCCaseFolded
        }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    /// The characters of the scripts that have composites, among them all composites. Equality of strings is canonical
    /// equivalence, so that the set contains a base and a mark if they compose. Those that NFC never makes are not in
    /// it: they change in the mapping.
    private static let composites: Set<String> = {
        let scripts: [ClosedRange<UInt32>] = [
            0xC0...0x6FF, 0x900...0xDFF, 0x1000...0x10FF, 0x1B00...0x1BFF, 0x1E00...0x22FF, 0x3040...0x30FF,
            0x11000...0x119FF,
        ]
        let scalars = scripts.joined().lazy.compactMap(Unicode.Scalar.init)
        return Set(scalars.filter { !$0.properties.changesWhenNFKCCaseFolded }.map { String($0) })
    }()
}
