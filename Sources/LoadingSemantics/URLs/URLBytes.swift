/// Character classes of URLs (RFC 3986 §2, §3.2.2).
enum URLBytes {
    /// reg-name without percent-encoding: letters, digits and -._~!$&'()*+,;= as a bit set.
    @inline(__always)
    static func isRegisteredName(_ byte: UInt8) -> Bool {
        let bits: UInt64 = byte < 64 ? 0x2BFF_7FD2_0000_0000 : 0x47FF_FFFE_87FF_FFFE
        return byte < 0x80 && bits >> UInt64(byte & 63) & 1 == 1
    }

    /// A space, a control character or DEL, which no URL contains.
    @inline(__always)
    static func isForbidden(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == 0x7F }

    /// A character that RFC 3986 allows anywhere, including "%".
    static func isURI(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x21, 0x23...0x3B, 0x3D, 0x3F...0x5B, 0x5D, 0x5F, 0x61...0x7A, 0x7E: true
        default: false
        }
    }
}
