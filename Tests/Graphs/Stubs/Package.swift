// swift-tools-version: 5.5
import PackageDescription

let package = Package(
    name: "Stubs",
    products: [.library(name: "Stubs", targets: ["Stubs"])],
    targets: [.target(name: "Stubs")]
)
