import Foundation
import TestSupport
import Testing

@testable import LoadingTransport

@Suite struct SystemRootsTests {
    private func locate(
        directory: String? = nil, file: String? = nil, hashed: Set<String> = [], files: Set<String> = []
    ) -> SystemRoots {
        SystemRoots.locate(
            directoryVariable: directory, fileVariable: file, isHashedDirectory: hashed.contains,
            isReadableFile: files.contains)
    }

    // TLS-4
    @Test func `a hashed directory comes before a bundle`() {
        let bundle = "/etc/ssl/certs/ca-certificates.crt"
        #expect(
            locate(hashed: ["/etc/ssl/certs"], files: [bundle])
                == SystemRoots(directories: ["/etc/ssl/certs"], files: []))
        #expect(locate(files: [bundle]) == SystemRoots(directories: [], files: [bundle]))
        #expect(locate() == SystemRoots(directories: [], files: []))
    }

    @Test func `the variables replace what is usual`() {
        let bundle = "/etc/ssl/certs/ca-certificates.crt"
        #expect(
            locate(directory: "/a:/b", hashed: ["/b", "/etc/ssl/certs"], files: [bundle])
                == SystemRoots(directories: ["/a", "/b"], files: []))
        #expect(
            locate(directory: "/a", hashed: ["/etc/ssl/certs"], files: [bundle])
                == SystemRoots(directories: ["/a"], files: [bundle]))
        #expect(
            locate(file: "/my.pem", hashed: ["/etc/ssl/certs"], files: [bundle])
                == SystemRoots(directories: ["/etc/ssl/certs"], files: ["/my.pem"]))
    }
}

@Suite struct SystemTrustTests {
    private let authority: TestCertificateAuthority
    private let directory: TemporaryDirectory

    init() throws {
        authority = try TestCertificateAuthority()
        directory = try TemporaryDirectory()
    }

    private func evaluate(_ roots: SystemRoots, _ chain: [TestCertificate]) throws -> TrustEvaluation {
        let evaluator = try #require(TrustEvaluator(system: roots))
        let chain = try #require(CertificateChain(der: chain.map(\.der)))
        return evaluator.evaluate(chain, host: "localhost", at: now)
    }

    // TLS-4
    @Test(.needs(.openssl)) func `a hashed directory is asked for the root`() throws {
        try directory.write(authority.root.pem, to: "root.pem")
        let chain = try authority.intermediate().issue(.localhost).chain
        let roots = SystemRoots(directories: [directory.path], files: [])
        #expect(try evaluate(roots, chain) != .trusted)
        _ = try ChildProcess.run("/usr/bin/openssl", ["rehash", directory.path])
        #expect(try evaluate(roots, chain) == .trusted)
    }

    // TLS-4
    @Test func `a bundle has what the directory has not`() throws {
        let others = try (0..<3).map { try TestCertificateAuthority(.authority("Other \($0)")).root.pem }
        let bundle = try directory.write((others + [authority.root.pem]).joined(), to: "bundle.pem").path
        let chain = try authority.issue(.localhost).chain
        #expect(try evaluate(SystemRoots(directories: [directory.path], files: [bundle]), chain) == .trusted)
        let root = SystemRoots(files: ["/nonexistent", bundle])
        #expect(try evaluate(root, chain) == .trusted)
        #expect(try evaluate(root, TestIdentity.selfSigned(.localhost).chain) != .trusted)
    }
}

/// A process that cannot open a file. Each test lowers the limit in a process of its own.
@Suite(.needs(.openssl)) struct RootsWithoutDescriptorTests {
    // TLS-4, CONN-14: roots that cannot be read now are not unknown, and can be read later
    @Test(arguments: [true, false]) func `roots are read when there is a descriptor for them`(
        inBundle: Bool
    ) async throws {
        let directory = try TemporaryDirectory()
        let authority = try TestCertificateAuthority()
        let bundle = try directory.write(authority.root.pem, to: "root.pem").path
        _ = try ChildProcess.run("/usr/bin/openssl", ["rehash", directory.path])
        let der = try authority.issue(.localhost).certificate.der
        let roots = inBundle ? ("", bundle) : (directory.path, "")
        await #expect(processExitsWith: .success) {
            [der = der as [UInt8], folder = roots.0 as String, file = roots.1 as String] in
            let roots = SystemRoots(
                directories: folder.isEmpty ? [] : [folder], files: file.isEmpty ? [] : [file])
            guard let evaluator = TrustEvaluator(system: roots), let chain = CertificateChain(der: [der]) else {
                exit(2)
            }
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var taken: [Int32] = []
            // Other threads may give up theirs meanwhile, those of the test's own machinery.
            for _ in 0..<20 {
                while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { taken.append(descriptor) }
                usleep(1_000)
            }
            let without = evaluator.evaluate(chain, host: "localhost", at: now)
            for descriptor in taken { close(descriptor) }
            guard case .rejected(let error) = without, error.code == -1200, error.posix == EMFILE else { exit(3) }
            exit(evaluator.evaluate(chain, host: "localhost", at: now) == .trusted ? EXIT_SUCCESS : 4)
        }
    }
}

@Suite struct ServerNameTests {
    // TLS-11
    @Test(arguments: [
        ("example.test", ServerName.name("example.test")), ("example.test.", .name("example.test")),
        ("127.0.0.1", .address([127, 0, 0, 1])), ("[::1]", .address([UInt8](repeating: 0, count: 15) + [1])),
        ("::1%eth0", .address([UInt8](repeating: 0, count: 15) + [1])), ("1.2.3", .name("1.2.3")), ("", nil),
        (".", nil), ("a\u{0}b", nil),
    ])
    func `a host is a name or an address`(host: String, name: ServerName?) {
        #expect(ServerName(host: host) == name)
    }
}
