// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "EventStream",
    dependencies: [.package(name: "swift-url-loading", path: "../..")],
    targets: [
        .executableTarget(
            name: "event-stream",
            dependencies: [.product(name: "URLLoading", package: "swift-url-loading")],
            path: "Sources/EventStream")
    ]
)
