// swift-tools-version: 6.1
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let withoutWarnings: [SwiftSetting] = [
    .unsafeFlags(["-warnings-as-errors", "-Wwarning", "DeprecatedDeclaration"])
]

// Set by `scripts/overlay`: two modules that need no other, and one library, for packages that do not depend on this
// one.
let isOverlay = Context.environment["URL_LOADING_OVERLAY"] != nil
let overlay: [SwiftSetting] =
    isOverlay
    ? [
        .unsafeFlags([
            "-enable-library-evolution", "-module-link-name", "URLLoading", "-Xfrontend", "-disable-autolink-library",
            "-Xfrontend", "URLLoading",
        ])
    ] : []

let package = Package(
    name: "swift-url-loading",
    products: [
        isOverlay
            ? .library(name: "URLLoading", type: .dynamic, targets: ["FoundationNetworking"])
            : .library(name: "URLLoading", targets: ["URLLoading"]),
        .library(name: "FoundationNetworking", targets: ["FoundationNetworking"]),
        // A server for the tests of programs. Not for Apple's platforms.
        .library(name: "URLLoadingTesting", targets: ["URLLoadingTesting"]),
        .executable(name: "urlsession", targets: ["urlsession"]),
        .executable(name: "urlsessiond", targets: ["urlsessiond"]),
    ],
    traits: [
        .trait(name: "HTTP3", description: "HTTP/3, over ngtcp2, nghttp3 and GnuTLS, which are loaded when needed."),
        .default(enabledTraits: ["HTTP3"]),
    ],
    targets: [
        // A target may depend only on targets below it, which scripts/check-layers checks.
        .executableTarget(name: "urlsession", dependencies: ["URLSessionCommandCore"], swiftSettings: strict),
        .executableTarget(
            name: "urlsessiond", dependencies: ["URLLoading", "BackgroundTransfers", "LoadingStorage"],
            swiftSettings: strict),
        .executableTarget(
            name: "soak", dependencies: ["URLSessionCommandCore", "URLLoading", "CLoadingOpenSSL"],
            swiftSettings: strict),
        .target(
            name: "URLSessionCommandCore",
            dependencies: [
                "URLLoading", "BackgroundTransfers", "LoadingPipeline", "LoadingTransport", "LoadingSemantics",
                "LoadingEvents",
            ],
            swiftSettings: strict),
        .target(
            name: "URLLoadingTesting",
            dependencies: [
                "URLLoading", "LoadingProtocols", "LoadingSemantics", "LoadingEvents", "CLoadingLinux",
                "CLoadingTestTLS", "CLoadingTestHTTP2",
            ], swiftSettings: strict),
        .target(name: "FoundationNetworking", dependencies: ["URLLoading"], swiftSettings: strict + overlay),
        .target(
            name: "URLLoading",
            dependencies: [
                "BackgroundTransfers", "LoadingPipeline", "LoadingStorage", "LoadingConnections", "LoadingProtocols",
                "LoadingTransport", "LoadingSemantics", "LoadingEvents", "CLoadingLinux", "CLoadingOctets",
                "CLoadingPublicSuffixes", "CLoadingFoundation",
            ],
            swiftSettings: strict + overlay),
        .target(
            name: "BackgroundTransfers",
            dependencies: [
                "LoadingPipeline", "LoadingStorage", "LoadingConnections", "LoadingTransport", "LoadingSemantics",
                "LoadingEvents", "CLoadingLinux", "CLoadingDBus", "CLoadingDaemon",
            ],
            swiftSettings: strict),
        .target(
            name: "LoadingPipeline",
            dependencies: [
                "LoadingConnections", "LoadingProtocols", "LoadingTransport", "LoadingSemantics", "LoadingEvents",
            ],
            swiftSettings: strict),
        .target(
            name: "LoadingConnections",
            dependencies: [
                "LoadingProtocols", "LoadingTransport", "LoadingSemantics", "LoadingEvents", "CLoadingLinux",
                "CLoadingProxies",
            ],
            swiftSettings: strict),
        .target(
            name: "LoadingProtocols",
            dependencies: [
                "LoadingSemantics", "CLoadingOctets", "CLoadingHTTP2", "CLoadingHTTP3", "CLoadingZlib",
                "CLoadingBrotli", "CLoadingZstd",
            ],
            swiftSettings: strict),
        .target(
            name: "LoadingTransport",
            dependencies: [
                "LoadingSemantics", "LoadingEvents", "CLoadingDBus", "CLoadingLinux", "CLoadingTLS", "CLoadingGSSAPI",
                "CLoadingPublicSuffixes",
            ],
            swiftSettings: strict),
        .target(
            name: "LoadingStorage",
            dependencies: [
                "LoadingEvents", "LoadingSemantics", "CLoadingLinux", "CLoadingSecretService", "CLoadingSQLite",
            ],
            swiftSettings: strict),
        .target(name: "LoadingSemantics", dependencies: ["CLoadingOctets"], swiftSettings: strict),
        .target(name: "LoadingEvents", dependencies: ["CLoadingLinux"], swiftSettings: strict),

        // C: what the importer cannot see (inline functions, macros), and the system's libraries.
        .target(name: "CLoadingLinux"),
        // Loops over octets, which debug builds need in C.
        .target(name: "CLoadingOctets"),
        // Names of classes of URLLoading that Foundation asks the runtime for.
        .target(name: "CLoadingFoundation"),
        // Starts the service of background transfers, and runs it in a program that is started as such.
        .target(name: "CLoadingDaemon"),
        // Has libdbus loaded when services are discovered, so it is not linked.
        .target(name: "CLoadingDBus"),
        .target(name: "CLoadingGSSAPI"),
        // Has nghttp2 loaded with the first connection that speaks HTTP/2, so it is not linked.
        .target(name: "CLoadingHTTP2"),
        // Loads ngtcp2, nghttp3 and GnuTLS when a session is made, so they are not linked. Without the trait, only absent.c
        // is compiled, which needs none of their headers.
        .target(
            name: "CLoadingHTTP3", cSettings: [.define("LOADING_HTTP3", .when(traits: ["HTTP3"]))]),
        // Has Duktape and libproxy loaded where they are needed and there.
        .target(name: "CLoadingProxies"),
        .target(name: "CLoadingPublicSuffixes"),
        .target(name: "CLoadingSecretService"),
        // Has SQLite loaded when a store has a file, so it is not linked.
        .target(name: "CLoadingSQLite"),
        // Has OpenSSL loaded when it is needed first, so it is not linked.
        .target(name: "CLoadingTLS"),
        // The same, of its server's side, for URLLoadingTesting.
        .target(name: "CLoadingTestTLS"),
        // The server's side of nghttp2, which is loaded with the first TestServer.
        .target(name: "CLoadingTestHTTP2"),
        .systemLibrary(name: "CLoadingOpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CLoadingZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        // Have their libraries loaded with the first body that is coded so, so they are not linked.
        .target(name: "CLoadingBrotli"),
        .target(name: "CLoadingZstd"),

        // Tests: one target a module, then the whole against scripted and real servers.
        .systemLibrary(
            name: "CTestNGHTTP2", path: "Tests/CTestNGHTTP2", pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(
            name: "CTestZstd", path: "Tests/CTestZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .target(name: "CTestTLS", dependencies: ["CLoadingOpenSSL"], path: "Tests/CTestTLS"),
        .target(name: "CTestHome", path: "Tests/CTestHome"),
        // Loads the library for Kerberos when a server needs it.
        .target(name: "CTestGSSAPI", path: "Tests/CTestGSSAPI"),
        .target(
            name: "TestSupport", dependencies: ["CLoadingHTTP3", "CTestTLS", "CTestHome", "CTestGSSAPI"],
            path: "Tests/TestSupport", swiftSettings: strict),
        // Steps the time of what runs on an event loop.
        .target(
            name: "LoadingTestSupport",
            dependencies: ["LoadingTransport", "LoadingSemantics", "LoadingEvents", "TestSupport"],
            path: "Tests/LoadingTestSupport", swiftSettings: strict),
        .testTarget(name: "TestSupportTests", dependencies: ["TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "LoadingEventsTests", dependencies: ["LoadingEvents", "TestSupport"], swiftSettings: strict),
        .testTarget(
            name: "LoadingSemanticsTests",
            dependencies: ["LoadingSemantics", "LoadingTransport", "CLoadingOctets", "TestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "LoadingProtocolsTests",
            dependencies: ["LoadingProtocols", "LoadingSemantics", "TestSupport", "CTestNGHTTP2", "CTestZstd"],
            swiftSettings: strict),
        .testTarget(
            name: "LoadingTransportTests",
            dependencies: [
                "LoadingTransport", "LoadingSemantics", "CLoadingTLS", "LoadingTestSupport", "TestSupport",
            ], swiftSettings: strict),
        .testTarget(
            name: "LoadingStorageTests",
            dependencies: ["LoadingStorage", "LoadingSemantics", "StorageSteps", "TestSupport"], swiftSettings: strict),
        // A process that does things to stores, and can be made to die at any change of the disk. It is started by tests.
        .executableTarget(
            name: "storage-writer", dependencies: ["StorageSteps", "LoadingStorage", "LoadingSemantics", "CTestDisk"],
            path: "Tests/StorageWriter", swiftSettings: strict),
        // A process that uses the permanent credentials, since libraries of the keyring stay in a process for ever.
        .executableTarget(
            name: "keyring-user", dependencies: ["StorageSteps", "LoadingStorage"], path: "Tests/KeyringUser",
            swiftSettings: strict),
        .target(
            name: "StorageSteps", dependencies: ["LoadingStorage", "LoadingSemantics"], path: "Tests/StorageSteps",
            swiftSettings: strict),
        .target(name: "CTestDisk", path: "Tests/CTestDisk"),
        .testTarget(
            name: "LoadingConnectionsTests",
            dependencies: [
                "LoadingConnections", "LoadingProtocols", "LoadingTransport", "LoadingSemantics", "LoadingEvents",
                "LoadingTestSupport", "TestSupport",
            ], swiftSettings: strict),
        .testTarget(
            name: "LoadingPipelineTests",
            dependencies: [
                "LoadingConnections", "LoadingEvents", "LoadingPipeline", "LoadingProtocols", "LoadingSemantics",
                "LoadingTestSupport", "LoadingTransport", "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "BackgroundTransfersTests",
            dependencies: [
                "BackgroundTransfers", "LoadingPipeline", "LoadingStorage", "LoadingTransport", "LoadingSemantics",
                "LoadingEvents", "LoadingTestSupport", "TestSupport", "CLoadingDaemon", "JournalSteps",
            ],
            swiftSettings: strict),
        // A program that connects to the service, which it contains.
        .executableTarget(
            name: "service-user",
            dependencies: ["BackgroundTransfers", "LoadingPipeline", "LoadingStorage", "LoadingTransport"],
            path: "Tests/ServiceUser", swiftSettings: strict),
        // A process that changes a journal, and can be made to die at any change of the disk.
        .executableTarget(
            name: "journal-writer",
            dependencies: ["JournalSteps", "CTestDisk"], path: "Tests/JournalWriter", swiftSettings: strict),
        // A process with a service in it that records what it does to the disk.
        .executableTarget(
            name: "transfer-writer",
            dependencies: [
                "URLLoading", "BackgroundTransfers", "LoadingPipeline", "LoadingStorage", "LoadingTransport",
                "CTestDisk",
            ],
            path: "Tests/TransferWriter", swiftSettings: strict),
        .target(
            name: "JournalSteps", dependencies: ["BackgroundTransfers", "LoadingPipeline", "LoadingStorage"],
            path: "Tests/JournalSteps", swiftSettings: strict),
        .testTarget(
            name: "URLSessionCommandTests",
            dependencies: [
                "URLSessionCommandCore", "URLLoading", "BackgroundTransfers", "LoadingPipeline", "LoadingTransport",
                "LoadingEvents", "LoadingSemantics", "TestSupport",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "URLLoadingTests",
            // The program is started by tests.
            dependencies: [
                "URLLoading", "URLLoadingTesting", "BackgroundTransfers", "LoadingPipeline", "LoadingSemantics",
                "LoadingStorage",
                "LoadingTransport", "LoadingEvents", "LoadingTestSupport", "TestSupport", "session-user",
                "background-user",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "background-user", dependencies: ["URLLoading"], path: "Tests/BackgroundUser", swiftSettings: strict),
        .executableTarget(
            name: "session-user", dependencies: ["URLLoading"], path: "Tests/SessionUser", swiftSettings: strict),
        // Programs as users write them, in both languages: they must compile without a warning. What is deprecated
        // on Apple platforms too may be used.
        .testTarget(
            name: "Swift6SourceTests",
            dependencies: ["URLLoading", "URLLoadingTesting", "FoundationNetworking", "TestSupport"],
            swiftSettings: withoutWarnings),
        .testTarget(
            name: "Swift5SourceTests", dependencies: ["FoundationNetworking", "TestSupport"],
            swiftSettings: withoutWarnings + [.swiftLanguageMode(.v5)]),
        .testTarget(
            name: "RealServerTests",
            dependencies: ["URLLoading", "LoadingConnections", "LoadingTransport", "TestSupport"],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

// Elsewhere there is another URLSession, in Foundation or in the toolchain's FoundationNetworking, and URLLoading only
// re-exports that. There is no module FoundationNetworking then: other packages ask `canImport` for it, and take it as a
// sign of Linux. This file sees the host: a build for Linux elsewhere sets URL_LOADING_PLATFORM=linux, and one for another
// system on Linux sets URL_LOADING_PLATFORM=apple.
#if os(Linux)
    let platform = Context.environment["URL_LOADING_PLATFORM"] ?? "linux"
#else
    let platform = Context.environment["URL_LOADING_PLATFORM"] ?? "apple"
#endif
if platform == "apple" {
    package.products = [
        .library(name: "URLLoading", targets: ["URLLoading"]),
        // SwiftPM looks for the products of a dependency on each platform, whatever its condition is.
        .library(name: "FoundationNetworking", targets: ["URLLoading"]),
        .library(name: "URLLoadingTesting", targets: ["URLLoading"]),
    ]
    package.targets = [
        .target(
            name: "URLLoading", sources: ["Exports.swift"], swiftSettings: strict + [.define("URL_LOADING_REEXPORTS")])
    ]
}

// `make test-engine-tsan` builds these tests and what they need, and nothing else.
if let names = Context.environment["URL_LOADING_ONLY"]?.split(separator: ",").map(String.init) {
    var needed: Set<String> = []
    var new = names
    while let name = new.popLast() {
        guard needed.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else {
            continue
        }
        for case .byNameItem(let name, _) in target.dependencies { new.append(name) }
    }
    package.products = []
    package.targets.removeAll { !needed.contains($0.name) }
}
