// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Pinning",
    dependencies: [.package(name: "swift-url-loading", path: "../..")],
    targets: [
        .executableTarget(
            name: "pinning",
            dependencies: [.product(name: "URLLoading", package: "swift-url-loading")],
            path: "Sources/Pinning")
    ]
)
