// swift-tools-version: 6.1
import PackageDescription

// One program, built twice. The two live in different build directories (see driver/build.py), so that neither can
// pick up the other's modules.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "Benchmarks",
    dependencies: [.package(name: "swift-url-loading", path: "..")],
    targets: [
        // clients/url-session/ours and toolchain each hold a link to the same source.
        .executableTarget(
            name: "url-session-ours",
            dependencies: [.product(name: "URLLoading", package: "swift-url-loading")],
            path: "clients/url-session/ours",
            swiftSettings: settings + [.define("URL_LOADING")]),
        .executableTarget(
            name: "url-session-toolchain",
            path: "clients/url-session/toolchain",
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
