import CLoadingTLS
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
    @Test("a hashed directory comes before a bundle") func hashedDirectoryComesBeforeBundle() {
        let bundle = "/etc/ssl/certs/ca-certificates.crt"
        #expect(
            locate(hashed: ["/etc/ssl/certs"], files: [bundle])
                == SystemRoots(directories: ["/etc/ssl/certs"], files: [], additions: locate().additions))
        #expect(
            locate(files: [bundle]) == SystemRoots(directories: [], files: [bundle], additions: locate().additions))
        #expect(locate().directories == [])
        #expect(locate().files == [])
        #expect(locate().additions?.contains("/usr/local/share/ca-certificates") == true)
    }

    @Test("the environment variables replace the default locations") func environmentVariablesReplaceDefaultLocations()
    {
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
    @Test("a hashed directory is searched for the root", .needs(.openssl)) func hashedDirectoryIsSearchedForRoot()
        throws
    {
        try directory.write(authority.root.pem, to: "root.pem")
        let chain = try authority.intermediate().issue(.localhost).chain
        let roots = SystemRoots(directories: [directory.path], files: [])
        #expect(try evaluate(roots, chain) != .trusted)
        _ = try ChildProcess.run("/usr/bin/openssl", ["rehash", directory.path])
        #expect(try evaluate(roots, chain) == .trusted)
    }

    // TLS-4
    @Test("a bundle provides roots that the directory lacks") func bundleProvidesRootsThatDirectoryLacks() throws {
        let others = try (0..<3).map { try TestCertificateAuthority(.authority("Other \($0)")).root.pem }
        let bundle = try directory.write((others + [authority.root.pem]).joined(), to: "bundle.pem").path
        let chain = try authority.issue(.localhost).chain
        #expect(try evaluate(SystemRoots(directories: [directory.path], files: [bundle]), chain) == .trusted)
        let root = SystemRoots(files: ["/nonexistent", bundle])
        #expect(try evaluate(root, chain) == .trusted)
        #expect(try evaluate(root, TestIdentity.selfSigned(.localhost).chain) != .trusted)
    }
}

extension SystemTrustTests {
    // TLS-4
    @Test("purposes below the system's own roots") func purposesBelowTheSystemsOwnRoots() throws {
        let bundle = try directory.write(authority.root.pem, to: "bundle.pem").path
        // 2019-06-01, before the key purpose was required in server certificates.
        let before = Date(timeIntervalSince1970: 1_559_347_200)
        let old = try authority.issue(
            .localhost.with {
                $0.purposes = []
                $0.validity = .between(before, before.addingTimeInterval(800 * 86_400))
            }
        ).chain
        let chain = try #require(CertificateChain(der: old.map(\.der)))
        for (additions, isTrusted) in [([], false), (nil, true)] as [([String]?, Bool)] {
            // The root is younger; its validity is not tested here.
            let evaluator = try #require(TrustEvaluator(system: SystemRoots(files: [bundle], additions: additions)))
            var built: CertificateChain?
            let demand = TrustPolicy(
                purpose: .server, host: "localhost", time: Int64(before.timeIntervalSince1970) + 86_400)
            let reasons = try evaluator.faults(of: chain, demand, built: &built).map(\.error.reason)
            #expect(reasons.contains { $0.contains("extended key usage") } == !isTrusted)
        }
    }

    // TLS-4: 398 days below the system's own roots; 825, with an hour of tolerance, below roots that an
    // administrator has added
    @Test("lifetimes below the system's own roots") func lifetimesBelowTheSystemsOwnRoots() throws {
        let bundle = try directory.write(authority.root.pem, to: "bundle.pem").path
        let added = try TemporaryDirectory()
        let start = Date(timeIntervalSince1970: Double(now - 3_600))
        func chain(_ seconds: Double) throws -> [TestCertificate] {
            try authority.issue(.localhost.with { $0.validity = .between(start, start.addingTimeInterval(seconds)) })
                .chain
        }
        let day = 86_400.0
        for additions in [[], ["/nonexistent"], [added.path]] {
            let roots = SystemRoots(files: [bundle], additions: additions)
            #expect(try evaluate(roots, chain(398 * day)) == .trusted)
            for seconds in [398 * day + 1, 825 * day] {
                guard case .rejected(let error) = try evaluate(roots, chain(seconds)) else {
                    Issue.record("\(seconds) with \(additions)")
                    continue
                }
                #expect(error.code == -1202)
                #expect(error.reason.hasSuffix("398 days are the most"))
            }
        }
        try added.write("no certificate", to: "a.txt")
        try added.write(TestCertificateAuthority().root.pem, to: "other.crt")
        #expect(try evaluate(SystemRoots(files: [bundle], additions: [added.path]), chain(398 * day + 1)) != .trusted)
        try added.write(authority.root.pem, to: "below/mine.crt")
        for additions in [nil, ["/nonexistent", added.path]] {
            let roots = SystemRoots(files: [bundle], additions: additions)
            #expect(try evaluate(roots, chain(825 * day + 3600)) == .trusted)
            #expect(try evaluate(roots, chain(825 * day + 3601)) != .trusted)
        }
        // The files are searched once.
        let evaluator = try #require(TrustEvaluator(system: SystemRoots(files: [bundle], additions: [added.path])))
        let persistent = try #require(CertificateChain(der: chain(825 * day).map(\.der)))
        #expect(evaluator.evaluate(persistent, host: "localhost", at: now) == .trusted)
        try FileManager.default.removeItem(atPath: added.path + "/below/mine.crt")
        #expect(evaluator.evaluate(persistent, host: "localhost", at: now) == .trusted)
        #expect(try evaluate(SystemRoots(files: [bundle], additions: [added.path]), chain(825 * day)) != .trusted)
    }
}

/// A process that cannot open a file. Each test lowers the limit in a process of its own.
@Suite(.needs(.openssl)) struct RootsWithoutDescriptorTests {
    #if compiler(>=6.2)
        // TLS-4, CONN-14: roots that cannot be read now do not count as unknown, and can be read later
        @Test("roots are read once a descriptor is free", arguments: [true, false])
        func rootsAreReadWhenThereIsADescriptorForThem(
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
                // A limit of zero instead of a full table: other threads of the process close descriptors as well.
                var limit = rlimit()
                getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
                let without = evaluator.evaluate(chain, host: "localhost", at: now)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                guard case .rejected(let error) = without, error.code == -1200, error.posix == EMFILE else { exit(3) }
                exit(evaluator.evaluate(chain, host: "localhost", at: now) == .trusted ? EXIT_SUCCESS : 4)
            }
        }
    #endif
}

/// Threads that add a file to the same stores at once. In a process of its own, which a fault of the memory would end.
@Suite struct SimultaneousRootsTests {
    #if compiler(>=6.2)
        // TLS-4
        @Test("threads may load a bundle into one store at once") func threadsMayLoadBundleIntoOneStoreAtOnce()
            async throws
        {
            let directory = try TemporaryDirectory()
            let bundle = try directory.write(TestCertificateAuthority().root.pem, to: "bundle.pem").path
            await #expect(processExitsWith: .success) { [bundle = bundle as String] in
                StoreUsers.add(bundle, toStores: 5_000)
                exit(EXIT_SUCCESS)
            }
            withExtendedLifetime(directory) {}
        }
    #endif
}

private enum StoreUsers {
    private static let threads: UInt32 = 4
    // Set before the threads start. The barriers keep them in step.
    nonisolated(unsafe) private static var stores: [OpaquePointer] = []
    nonisolated(unsafe) private static let step = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)
    nonisolated(unsafe) private static let end = UnsafeMutablePointer<pthread_barrier_t>.allocate(capacity: 1)

    static func add(_ file: String, toStores count: Int) {
        stores = (0..<count).compactMap { _ in clt_roots_new() }
        pthread_barrier_init(step, nil, threads)
        pthread_barrier_init(end, nil, threads + 1)
        for _ in 0..<threads {
            Thread {
                for store in stores {
                    pthread_barrier_wait(step)
                    if !clt_roots_add_file(store, file) { _exit(2) }
                }
                pthread_barrier_wait(end)
            }.start()
        }
        pthread_barrier_wait(end)
        for store in stores { clt_roots_free(store) }
    }
}

@Suite struct ServerNameTests {
    // TLS-11
    @Test(
        "a host is a name or an address",
        arguments: [
            ("example.test", ServerName.name("example.test")), ("example.test.", .name("example.test")),
            ("127.0.0.1", .address([127, 0, 0, 1])), ("[::1]", .address([UInt8](repeating: 0, count: 15) + [1])),
            ("::1%eth0", .address([UInt8](repeating: 0, count: 15) + [1])), ("1.2.3", .name("1.2.3")), ("", nil),
            (".", nil), ("a\u{0}b", nil),
        ])
    func hostIsNameOrAddress(host: String, name: ServerName?) {
        #expect(ServerName(host: host) == name)
    }

    // TLS-11: RFC 6066 §3
    @Test(
        "a name is sent to the server without a final dot, and an address is not",
        arguments: [
            ("example.test", "example.test"), ("example.test.", "example.test"), ("127.0.0.1", nil), ("::1%eth0", nil),
        ])
    func nameIsSentToServerWithoutFinalDot(host: String, indication: String?) {
        #expect(ServerName(host: host)?.indication == indication)
    }
}
