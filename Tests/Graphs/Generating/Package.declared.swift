// swift-tools-version: 5.9
import CompilerPluginSupport
import PackageDescription

let networking: Target.Dependency = .product(
    name: "FoundationNetworking", package: "PACKAGE", condition: .when(platforms: [.linux]))

let package = Package(
    name: "Generating",
    products: [.library(name: "Generating", targets: ["Generating"])],
    dependencies: [.package(path: "REPOSITORY")],
    targets: [
        .target(name: "Generating", dependencies: ["Macros"], plugins: ["Generate"]),
        .plugin(name: "Generate", capability: .buildTool(), dependencies: ["Generator"]),
        .executableTarget(name: "Generator", dependencies: [networking]),
        .macro(name: "Macros"),
    ]
)
