// swift-tools-version: 6.1
import PackageDescription

let package = Package(
    name: "ResumingUploader",
    dependencies: [.package(name: "swift-url-loading", path: "../..")],
    targets: [
        .executableTarget(
            name: "resuming-uploader",
            dependencies: [.product(name: "URLLoading", package: "swift-url-loading")],
            path: "Sources/ResumingUploader")
    ]
)
