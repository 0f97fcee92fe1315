// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "StatusCheck",
    dependencies: [.package(name: "swift-url-loading", path: "../..")],
    targets: [
        .executableTarget(
            name: "status-check",
            dependencies: [.product(name: "URLLoading", package: "swift-url-loading")],
            path: "Sources/StatusCheck")
    ]
)
