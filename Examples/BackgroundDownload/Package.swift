// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "BackgroundDownload",
    dependencies: [.package(name: "swift-url-loading", path: "../..")],
    targets: [
        .executableTarget(
            name: "background-download",
            dependencies: [.product(name: "URLLoading", package: "swift-url-loading")],
            path: "Sources/BackgroundDownload")
    ]
)
