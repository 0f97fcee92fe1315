/// The hash functions of Digest (RFC 7616 §6.1).
package enum DigestHash: Sendable, CaseIterable {
    case md5
    case sha256
    /// SHA-512/256 of FIPS 180-4. It has its own initial value, so it is not a truncated SHA-512.
    case sha512_256
}

/// Hashes octets. Returns nil if the cryptographic library does not offer the function, such as MD5 in FIPS mode. A
/// parameter, so that this module needs no cryptographic library.
package typealias DigestFunction = @Sendable (_ hash: DigestHash, _ octets: [UInt8]) -> [UInt8]?
