// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "CacheFirstFeed",
    dependencies: [.package(name: "swift-url-loading", path: "../..")],
    targets: [
        .executableTarget(
            name: "cache-first-feed",
            dependencies: [.product(name: "URLLoading", package: "swift-url-loading")],
            path: "Sources/CacheFirstFeed")
    ]
)
