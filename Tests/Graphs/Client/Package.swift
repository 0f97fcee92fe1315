// swift-tools-version: 5.9
import PackageDescription

let package = Package(
    name: "Client",
    products: [.library(name: "Client", targets: ["Client"])],
    dependencies: [.package(path: "../Models")],
    targets: [.target(name: "Client", dependencies: ["Models"])]
)
