internal import CLoadingOctets

/// Validates UTF-8 (RFC 3629) that arrives in pieces.
struct UTF8Validator: Equatable {
    /// The number of continuation octets that are missing from the current character.
    private var missing: UInt8 = 0
    /// The bounds of the next continuation octet, which exclude overlong forms, surrogates, and what is above U+10FFFF.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    /// Whether the octets so far end with a whole character.
    var isComplete: Bool { missing == 0 }

    /// False if the octets, after those before, cannot be the beginning of valid UTF-8.
    mutating func accept(_ octets: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        let end = octets.count
        while index < end {
            if missing == 0 {
                index = clo_end_of_ascii(octets.baseAddress, index, end)
                guard index < end else { return true }
                guard begin(octets[index]) else { return false }
            } else {
                guard (lowest...highest).contains(octets[index]) else { return false }
                missing &-= 1
                (lowest, highest) = (0x80, 0xBF)
            }
            index &+= 1
        }
        return true
    }

    /// The first octet of a character.
    private mutating func begin(_ octet: UInt8) -> Bool {
        switch octet {
        case ..<0x80: break
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, lowest) = (2, 0xA0)
        case 0xED: (missing, highest) = (2, 0x9F)
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, lowest) = (3, 0x90)
        case 0xF1...0xF3: missing = 3
        case 0xF4: (missing, highest) = (3, 0x8F)
        default: return false
        }
        return true
    }
}
