// swift-tools-version: 6.1
import PackageDescription

// Programs in which the library, with all of its threads, runs in a simulated world. Not part of the product: see
// docs/simulation.md.
let package = Package(
    name: "Simulation",
    dependencies: [.package(name: "swift-url-loading", path: "..")],
    targets: [
        // The functions of the C library that reach the kernel. Shared libraries have to find these before those of the
        // C library. The servers' side of protocols is over OpenSSL, nghttp2, ngtcp2, GnuTLS and nghttp3.
        .target(
            name: "CSimulation",
            linkerSettings: [
                .unsafeFlags(["-Xlinker", "--export-dynamic"]),
                // Programs.c starts the service in the place of the library, which has vfork and execve.
                .unsafeFlags(["-Xlinker", "--wrap=cld_start_service"]),
                .linkedLibrary("ssl"), .linkedLibrary("crypto"), .linkedLibrary("nghttp2"), .linkedLibrary("ngtcp2"),
                .linkedLibrary("ngtcp2_crypto_gnutls"), .linkedLibrary("gnutls"), .linkedLibrary("nghttp3"),
            ]),
        .executableTarget(
            name: "simulate",
            dependencies: ["CSimulation", .product(name: "URLLoading", package: "swift-url-loading")],
            swiftSettings: [.enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility")]),
    ]
)
