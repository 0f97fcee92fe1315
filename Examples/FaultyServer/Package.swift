// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "FaultyServer",
    dependencies: [.package(name: "swift-url-loading", path: "../..")],
    targets: [
        .executableTarget(
            name: "faulty-server",
            dependencies: [
                .product(name: "URLLoading", package: "swift-url-loading"),
                .product(name: "URLLoadingTesting", package: "swift-url-loading"),
            ],
            path: "Sources/FaultyServer")
    ]
)
