// swift-tools-version: 6.1
import Foundation
import PackageDescription

// The smallest program that loads a URL, with this library, or with the toolchain's module: scripts/size-and-start.
let usesToolchain = ProcessInfo.processInfo.environment["MINIMAL_MODULE"] == "toolchain"
let package = Package(
    name: "minimal",
    dependencies: usesToolchain ? [] : [.package(name: "swift-url-loading", path: "../..")],
    targets: [
        .executableTarget(
            name: "minimal",
            dependencies: usesToolchain ? [] : [.product(name: "FoundationNetworking", package: "swift-url-loading")])
    ])
