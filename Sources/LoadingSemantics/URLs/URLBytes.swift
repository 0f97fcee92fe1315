internal import CLoadingOctets

/// Character classes of URLs (RFC 3986 §2, §3.2.2).
enum URLBytes {
    /// reg-name without percent-encoding: letters, digits and -._~!$&'()*+,;=.
    static var registeredName: clo_ascii_set {
        clo_ascii_set(low: 0x2BFF_7FD2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE)
    }

    @inline(__always)
    static func isRegisteredName(_ byte: UInt8) -> Bool { clo_contains(registeredName, byte) }

    /// The octets that the parser skips in an authority: ASCII without controls, space, DEL and the delimiters "@/?#".
    static var authority: clo_ascii_set {
        clo_ascii_set(low: 0x7FFF_7FF6_0000_0000, high: 0x7FFF_FFFF_FFFF_FFFE)
    }

    /// A character that RFC 3986 allows anywhere, including "%".
    static func isURI(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21, 0x23...0x3B, 0x3D, 0x3F...0x5B, 0x5D, 0x5F, 0x61...0x7A, 0x7E: true
        default: false
        }
    }
}
