// swift-tools-version: 6.1
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

// The engine's own sources, through links, so that they are built with the fuzzer's instrumentation and the fuzz
// targets see what has package access. One product a target; `scripts/fuzz` builds and runs it.
let package = Package(
    name: "fuzz",
    products: [
        .executable(name: "alternatives", targets: ["AlternativesFuzz"]),
        .executable(name: "certificates", targets: ["CertificateFuzz"]),
        .executable(name: "cookies", targets: ["CookieFuzz"]),
        .executable(name: "http1", targets: ["HTTP1Fuzz"]),
        .executable(name: "http2", targets: ["HTTP2Fuzz"]),
        .executable(name: "http3", targets: ["HTTP3Fuzz"]),
        .executable(name: "quic", targets: ["QUICFuzz"]),
        .executable(name: "multipart", targets: ["MultipartFuzz"]),
        .executable(name: "ftp", targets: ["FTPFuzz"]),
        .executable(name: "cache", targets: ["CacheFuzz"]),
        .executable(name: "challenges", targets: ["ChallengeFuzz"]),
        .executable(name: "hsts", targets: ["HSTSFuzz"]),
        .executable(name: "proxies", targets: ["ProxyFuzz"]),
        .executable(name: "messages", targets: ["MessageFuzz"]),
        .executable(name: "journal", targets: ["JournalFuzz"]),
        .executable(name: "websocket", targets: ["WebSocketFuzz"]),
        .executable(name: "websocket-deflate", targets: ["WebSocketDeflateFuzz"]),
    ],
    targets: [
        .target(name: "LoadingSemantics", dependencies: ["CLoadingOctets"], swiftSettings: strict),
        .target(
            name: "BackgroundTransfers",
            dependencies: [
                "LoadingPipeline", "LoadingStorage", "LoadingConnections", "LoadingTransport", "LoadingSemantics",
                "LoadingEvents", "CLoadingLinux", "CLoadingDBus", "CLoadingDaemon",
            ], swiftSettings: strict),
        .target(
            name: "LoadingPipeline",
            dependencies: [
                "LoadingConnections", "LoadingProtocols", "LoadingTransport", "LoadingSemantics", "LoadingEvents",
            ], swiftSettings: strict),
        .target(
            name: "LoadingConnections",
            dependencies: [
                "LoadingProtocols", "LoadingTransport", "LoadingSemantics", "LoadingEvents", "CLoadingLinux",
                "CLoadingProxies",
            ], swiftSettings: strict),
        .target(
            name: "LoadingProtocols",
            dependencies: [
                "LoadingSemantics", "CLoadingOctets", "CLoadingHTTP2", "CLoadingHTTP3", "CLoadingZlib",
                "CLoadingBrotli", "CLoadingZstd",
            ], swiftSettings: strict),
        .target(
            name: "LoadingTransport",
            dependencies: [
                "LoadingSemantics", "LoadingEvents", "CLoadingDBus", "CLoadingLinux", "CLoadingTLS", "CLoadingGSSAPI",
                "CLoadingPublicSuffixes",
            ], swiftSettings: strict),
        .target(
            name: "LoadingStorage",
            dependencies: [
                "LoadingEvents", "LoadingSemantics", "CLoadingLinux", "CLoadingSecretService", "CLoadingSQLite",
            ], swiftSettings: strict),
        .target(name: "LoadingEvents", dependencies: ["CLoadingLinux"], swiftSettings: strict),
        .target(name: "CLoadingLinux"),
        .target(name: "CLoadingOctets"),
        .target(name: "CLoadingDBus"),
        .target(name: "CLoadingDaemon"),
        .target(name: "CLoadingTLS"),
        .target(name: "CLoadingGSSAPI"),
        .target(name: "CLoadingPublicSuffixes"),
        .target(name: "CLoadingSecretService"),
        .target(name: "CLoadingSQLite"),
        .target(name: "CLoadingProxies"),
        .target(name: "CLoadingBrotli"),
        .target(name: "CLoadingZstd"),
        .target(name: "CLoadingHTTP2"),
        .target(name: "CLoadingHTTP3", cSettings: [.define("LOADING_HTTP3")]),
        .systemLibrary(name: "CLoadingZlib", pkgConfig: "zlib"),
        // The way into the fuzzer, the same for each.
        .target(name: "FuzzDriver", swiftSettings: strict),
        .executableTarget(
            name: "AlternativesFuzz", dependencies: ["FuzzDriver", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "CertificateFuzz", dependencies: ["FuzzDriver", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "CookieFuzz", dependencies: ["FuzzDriver", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "HTTP1Fuzz", dependencies: ["FuzzDriver", "LoadingProtocols", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "HTTP2Fuzz", dependencies: ["FuzzDriver", "LoadingProtocols", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "HTTP3Fuzz", dependencies: ["FuzzDriver", "LoadingProtocols", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "QUICFuzz", dependencies: ["FuzzDriver", "LoadingProtocols", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "MultipartFuzz", dependencies: ["FuzzDriver", "LoadingProtocols", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "FTPFuzz", dependencies: ["FuzzDriver", "LoadingProtocols", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "CacheFuzz", dependencies: ["FuzzDriver", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "ChallengeFuzz", dependencies: ["FuzzDriver", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "HSTSFuzz", dependencies: ["FuzzDriver", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "ProxyFuzz", dependencies: ["FuzzDriver", "LoadingProtocols", "LoadingSemantics"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "MessageFuzz", dependencies: ["FuzzDriver", "BackgroundTransfers", "LoadingPipeline"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "JournalFuzz",
            dependencies: ["FuzzDriver", "BackgroundTransfers", "LoadingPipeline", "LoadingStorage"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "WebSocketFuzz", dependencies: ["FuzzDriver", "LoadingProtocols"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "WebSocketDeflateFuzz", dependencies: ["FuzzDriver", "LoadingProtocols"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])]),
    ],
    swiftLanguageModes: [.v6]
)
