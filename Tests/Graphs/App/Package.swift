// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "App",
    dependencies: [
        .package(path: "../Client"), .package(path: "../Stubs"), .package(path: "../Models"),
        .package(path: "../Neighbours"), .package(path: "../Generating"), .package(path: "../Transports"),
    ],
    targets: [
        .executableTarget(
            name: "App",
            dependencies: [
                "Client", "Stubs", "Models", "Neighbours", "Generating",
                .product(name: "Transports", package: "Transports"),
            ]),
        // Programs without networking must link too.
        .executableTarget(name: "FoundationTool"),
        .executableTarget(name: "CTool"),
        .testTarget(name: "AppTests", dependencies: ["Client", "Stubs"]),
    ]
)
