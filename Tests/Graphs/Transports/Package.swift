// swift-tools-version: 5.9
import PackageDescription

let package = Package(
    name: "Transports",
    products: [.library(name: "Transports", targets: ["Sessions", "Buffered", "Loaders"])],
    targets: [
        .target(name: "Sessions"), .target(name: "Buffered", dependencies: ["Sessions"]), .target(name: "Loaders"),
    ]
)
