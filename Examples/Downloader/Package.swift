// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "Downloader",
    dependencies: [.package(name: "swift-url-loading", path: "../..")],
    targets: [
        .executableTarget(
            name: "downloader",
            dependencies: [.product(name: "URLLoading", package: "swift-url-loading")],
            path: "Sources/Downloader")
    ]
)
