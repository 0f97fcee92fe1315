import Foundation
import TestSupport
import Testing

/// What the compiler says where the header of a library is missing. Each run sees the system's headers through links,
/// without those of the library.
@Suite(.enabled(if: Compiler.path != nil, "there is no clang beside swift")) struct MissingHeaderTests {
    private static let checkout = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// A library whose headers are needed to build, and its package in Debian.
    enum Library: String, CaseIterable {
        case brotli, gnutls, nghttp2, nghttp3, ngtcp2, openssl, sqlite, zlib, zstd

        /// The names in folders of headers.
        var headers: [String] {
            switch self {
            case .sqlite: ["sqlite3.h", "sqlite3ext.h"]
            case .zlib: ["zlib.h"]
            case .zstd: ["zstd.h", "zstd_errors.h", "zdict.h"]
            default: [rawValue]
            }
        }

        var package: String {
            switch self {
            case .brotli: "libbrotli-dev"
            case .gnutls: "libgnutls28-dev"
            case .nghttp2: "libnghttp2-dev"
            case .nghttp3: "libnghttp3-dev"
            case .ngtcp2: "libngtcp2-dev"
            case .openssl: "libssl-dev"
            case .sqlite: "libsqlite3-dev"
            case .zlib: "zlib1g-dev"
            case .zstd: "libzstd-dev"
            }
        }

        /// The modules of the package that include its headers.
        var modules: Set<String> {
            switch self {
            case .brotli: ["CLoadingBrotli"]
            case .gnutls, .nghttp3, .ngtcp2: ["CLoadingHTTP3"]
            case .nghttp2: ["CLoadingHTTP2", "CLoadingTestHTTP2", "CTestNGHTTP2"]
            case .openssl: ["CLoadingOpenSSL", "CLoadingTLS", "CLoadingTestTLS", "CTestTLS"]
            case .sqlite: ["CLoadingSQLite"]
            case .zlib: ["CLoadingZlib"]
            case .zstd: ["CLoadingZstd", "CTestZstd"]
            }
        }
    }

    /// The system's headers without those of some libraries.
    private struct Headers {
        private let folder: TemporaryDirectory
        private let flags: [String]

        init(without libraries: [Library]) throws {
            folder = try TemporaryDirectory()
            let hidden = Set(libraries.flatMap(\.headers))
            let system = "/usr/include"
            // Debian has those of one architecture in a folder of their own.
            let multiarch = try FileManager.default.contentsOfDirectory(atPath: system).filter {
                $0.contains("-linux-gnu")
            }
            var flags = ["-nostdinc"]
            for (number, place) in (multiarch.map { "\(system)/\($0)" } + [system]).enumerated() {
                let links = folder.file("\(number)")
                try FileManager.default.createDirectory(at: links, withIntermediateDirectories: true)
                for name in try FileManager.default.contentsOfDirectory(atPath: place) where !hidden.contains(name) {
                    try FileManager.default.createSymbolicLink(
                        atPath: links.appendingPathComponent(name).path, withDestinationPath: "\(place)/\(name)")
                }
                flags += ["-isystem", links.path]
            }
            let (_, output) = try ChildProcess.run(try #require(Compiler.path), ["-print-resource-dir"])
            let own = output.trimmingCharacters(in: .whitespacesAndNewlines)
            self.flags = flags + ["-isystem", own + "/include"]
        }

        /// The errors of the compiler for a file of a module.
        func errors(for file: URL) throws -> [String] {
            let module = file.deletingLastPathComponent()
            let (exit, output) = try ChildProcess.run(
                try #require(Compiler.path),
                ["-fsyntax-only", "-w", "-DLOADING_HTTP3", "-I\(module.path)", "-I\(module.path)/include"] + flags
                    + ["-x", "c", file.path])
            let errors = output.split(separator: "\n").filter { $0.contains("error: ") }.map(String.init)
            #expect((exit == .code(0)) == errors.isEmpty, "\(file.path): \(output)")
            return errors
        }
    }

    /// The files to compile of all modules in C, by the names of the modules: a module of the system's has one header
    /// alone.
    private static func sources() throws -> [(module: String, file: URL)] {
        try ["Sources", "Tests"].flatMap { place in
            let folder = checkout.appendingPathComponent(place)
            let modules = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                .filter { $0.hasPrefix("CLoading") || $0.hasPrefix("CTest") }
            return try modules.flatMap { module in
                try FileManager.default.contentsOfDirectory(
                    at: folder.appendingPathComponent(module), includingPropertiesForKeys: nil
                ).filter { $0.pathExtension == "c" || $0.lastPathComponent == "shim.h" }.map { (module, $0) }
            }
        }
    }

    @Test("the message for a library names its package, before anything else", arguments: Library.allCases)
    func library(library: Library) throws {
        let headers = try Headers(without: [library])
        var failed: Set<String> = []
        for (module, file) in try Self.sources() where library.modules.contains(module) {
            guard let first = try headers.errors(for: file).first else { continue }
            #expect(first.contains(" missing: install \(library.package)"))
            failed.insert(module)
        }
        #expect(failed == library.modules)
    }

    // What is included without being in the table above would fail here by its name.
    @Test("without all of the libraries no error comes before the message") func all() throws {
        let headers = try Headers(without: Library.allCases)
        var failed: Set<String> = []
        for (module, file) in try Self.sources() {
            guard let first = try headers.errors(for: file).first else { continue }
            #expect(first.contains(" missing: install "), "\(file.path)")
            failed.insert(module)
        }
        #expect(failed == Library.allCases.reduce(into: []) { $0.formUnion($1.modules) })
    }

    @Test("with all of the libraries nothing is missing") func none() throws {
        let headers = try Headers(without: [])
        for (_, file) in try Self.sources() { #expect(try headers.errors(for: file) == []) }
    }
}

/// The compiler of the package's C.
private enum Compiler {
    static let path: String? = {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").map { "\($0)/clang" }.first { access($0, X_OK) == 0 }
    }()
}
