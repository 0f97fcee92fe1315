// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Chat",
    dependencies: [.package(name: "swift-url-loading", path: "../..")],
    targets: [
        .executableTarget(
            name: "chat",
            dependencies: [.product(name: "URLLoading", package: "swift-url-loading")],
            path: "Sources/Chat")
    ]
)
