// swift-tools-version: 6.1
import PackageDescription

// The same sources, built against this library, or, with CONFORMANCE=toolchain in the environment, against the
// toolchain's FoundationNetworking. `scripts/conformance` does both, each in a build folder of its own.
let isToolchain = Context.environment["CONFORMANCE"] == "toolchain"

let package = Package(
    name: "conformance",
    dependencies: isToolchain ? [] : [.package(name: "swift-url-loading", path: "../..")],
    targets: [
        .executableTarget(
            name: "conformance",
            dependencies: isToolchain ? [] : [.product(name: "FoundationNetworking", package: "swift-url-loading")])
    ]
)
