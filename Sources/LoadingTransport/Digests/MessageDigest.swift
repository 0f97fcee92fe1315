internal import CLoadingTLS
package import LoadingSemantics

/// An incremental hash, computed by OpenSSL.
package struct MessageDigest: ~Copyable {
    private let state: OpaquePointer
    private var isWhole = true

    /// The functions that OpenSSL offers: no MD5 in FIPS mode.
    package static let available = Set(DigestHash.allCases.filter { MessageDigest.hash($0, []) != nil })

    /// Returns nil if OpenSSL does not offer the function.
    package init?(_ hash: DigestHash) {
        let function =
            switch hash {
            case .md5: CLT_MD5
            case .sha256: CLT_SHA256
            case .sha512_256: CLT_SHA512_256
            }
        guard let state = clt_digest_new(function) else { return nil }
        self.state = state
    }

    deinit { clt_digest_free(state) }

    package mutating func update(_ octets: UnsafeRawBufferPointer) {
        isWhole = clt_digest_update(state, octets.baseAddress, octets.count) && isWhole
    }

    /// Returns nil if OpenSSL has failed.
    package consuming func finish() -> [UInt8]? {
        let result = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            // The buffer has the requested capacity, so it has an address.
            count = buffer.baseAddress.map { clt_digest_finish(state, $0) } ?? 0
        }
        return isWhole && !result.isEmpty ? result : nil
    }

    /// Hashes octets. A `DigestFunction`.
    @Sendable package static func hash(_ hash: DigestHash, _ octets: [UInt8]) -> [UInt8]? {
        guard var digest = MessageDigest(hash) else { return nil }
        octets.withUnsafeBytes { digest.update($0) }
        return digest.finish()
    }
}
