import Glibc
import LoadingSemantics
import LoadingTransport
import Testing

@Suite struct MessageDigestTests {
    // RFC 1321 §A.5, FIPS 180-4's examples: the hash of "abc".
    @Test(arguments: [
        (DigestHash.md5, "900150983cd24fb0d6963f7d28e17f72"),
        (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (.sha512_256, "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
    ])
    func wholeAndInPieces(hash: DigestHash, expected: String) {
        #expect(text(MessageDigest.hash(hash, Array("abc".utf8))) == expected)
        guard var digest = MessageDigest(hash) else {
            Issue.record("no such function")
            return
        }
        for piece in ["a", "", "bc"] { Array(piece.utf8).withUnsafeBytes { digest.update($0) } }
        #expect(text(digest.finish()) == expected)
    }

    private func text(_ octets: [UInt8]?) -> String? {
        octets.map { $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
    }
}

#if compiler(>=6.2)
    @Suite struct OpenSSLAtExitTests {
        // Other threads may be in OpenSSL when a process ends, so it must not clean up, whatever it was used for first.
        @Test("OpenSSL is not torn down at exit after a digest") func openSSLIsNotTornDownAtExitAfterDigest() async {
            await #expect(processExitsWith: .success) {
                guard MessageDigest.hash(.sha256, []) != nil else { exit(2) }
                guard let library = dlopen("libssl.so.3", RTLD_NOW), let symbol = dlsym(library, "OPENSSL_atexit")
                else { exit(3) }
                typealias Handler = @convention(c) () -> Void
                let callAtCleanup = unsafeBitCast(symbol, to: (@convention(c) (Handler) -> Int32).self)
                guard callAtCleanup({ _exit(4) }) == 1 else { exit(5) }
                exit(EXIT_SUCCESS)
            }
        }
    }
#endif
