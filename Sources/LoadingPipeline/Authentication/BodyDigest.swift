internal import FoundationEssentials
internal import LoadingSemantics
internal import LoadingTransport

/// The hash of a body in memory, for `auth-int` of Digest (AUTH-18). It takes about two milliseconds for a megabyte, so
/// that of a large body is computed while the loop is lent.
struct BodyDigest: Sendable {
    let octets: [UInt8]
    private let hash: DigestHash
    private let body: Data

    /// The length above which a body is not hashed on the loop.
    static let mostBytesOnLoop = 64 << 10

    /// Returns nil if the cryptographic library does not offer the function.
    init?(_ body: Data, _ hash: DigestHash) {
        guard var digest = MessageDigest(hash) else { return nil }
        body.withUnsafeBytes { digest.update($0) }
        guard let octets = digest.finish() else { return nil }
        self.octets = octets
        self.hash = hash
        self.body = body
    }

    /// Whether this is that hash of that body. Compares the addresses: no other body can have this one's while it is
    /// retained here.
    func isOf(_ other: Data, _ hash: DigestHash) -> Bool {
        guard hash == self.hash, other.count == body.count else { return false }
        return other.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) in
            body.withUnsafeBytes { (own: UnsafeRawBufferPointer) in bytes.baseAddress == own.baseAddress }
        }
    }
}
