// swift-tools-version: 5.9
import PackageDescription

/// Names that packages with C in them often use.
let names = ["CBrotli", "CNGHTTP2", "COpenSSL", "CSQLite", "CZlib", "CZstd"]

let package = Package(
    name: "Neighbours",
    products: [.library(name: "Neighbours", targets: ["Neighbours"])],
    targets: names.map { .target(name: $0) } + [
        .target(name: "Neighbours", dependencies: names.map { .byName(name: $0) })
    ]
)
