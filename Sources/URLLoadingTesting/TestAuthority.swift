internal import CLoadingTestTLS

/// A made-up certificate authority.
final class TestAuthority: @unchecked Sendable {
    // Sendable: the C object may be used by many threads.
    let pointer: OpaquePointer
    /// In DER.
    let certificate: [UInt8]

    init() throws {
        guard let pointer = cltt_authority_create() else {
            throw TestServerError.tlsUnavailable(String(cString: cltt_failure()))
        }
        self.pointer = pointer
        let length = cltt_authority_certificate(pointer, nil, 0)
        certificate = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            count = min(length, cltt_authority_certificate(pointer, buffer.baseAddress, length))
        }
    }

    deinit { cltt_authority_free(pointer) }
}
