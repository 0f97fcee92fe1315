internal import CLoadingTestTLS
internal import Glibc

/// A made-up certificate authority.
final class TestAuthority: @unchecked Sendable {
    // Sendable: the C object may be used by many threads.
    let pointer: OpaquePointer
    /// In DER.
    let certificate: [UInt8]

    /// - Parameter addresses: For which its certificates are, besides those of the loopback interface.
    init(_ addresses: [String]) throws {
        // Those that are none are left out: no certificate can name them.
        let list = addresses.filter { Self.isAddress($0) }.map { ",IP:\($0)" }.joined()
        guard let pointer = cltt_authority_create(list) else {
            throw TestServerError.tlsUnavailable(String(cString: cltt_failure()))
        }
        self.pointer = pointer
        let length = cltt_authority_certificate(pointer, nil, 0)
        certificate = [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            count = min(length, cltt_authority_certificate(pointer, buffer.baseAddress, length))
        }
    }

    deinit { cltt_authority_free(pointer) }

    private static func isAddress(_ text: String) -> Bool {
        var bytes = in6_addr()
        return inet_pton(AF_INET, text, &bytes) == 1 || inet_pton(AF_INET6, text, &bytes) == 1
    }
}
