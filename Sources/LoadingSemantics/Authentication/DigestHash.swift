/// The hash functions that Digest may use (RFC 7616 §6.1).
package enum DigestHash: Sendable, CaseIterable {
    case md5
    case sha256
    /// SHA-512/256 of FIPS 180-4, which has its own initial value: no shortened SHA-512.
    case sha512_256
}

/// Hashes octets; nil if the cryptographic library does not offer the function, as for MD5 under FIPS rules. It comes
/// from above, so that these rules need no library.
package typealias DigestFunction = @Sendable (_ hash: DigestHash, _ octets: [UInt8]) -> [UInt8]?
