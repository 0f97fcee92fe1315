// swift-tools-version: 5.9
import CompilerPluginSupport
import PackageDescription

let package = Package(
    name: "Generating",
    products: [.library(name: "Generating", targets: ["Generating"])],
    targets: [
        .target(name: "Generating", dependencies: ["Macros"], plugins: ["Generate"]),
        .plugin(name: "Generate", capability: .buildTool(), dependencies: ["Generator"]),
        .executableTarget(name: "Generator"),
        .macro(name: "Macros"),
    ]
)
