// swift-tools-version: 6.0
import PackageDescription

let networking: Target.Dependency = .product(
    name: "FoundationNetworking", package: "PACKAGE", condition: .when(platforms: [.linux]))

let package = Package(
    name: "App",
    dependencies: [
        .package(path: "../Client"), .package(path: "../Stubs"), .package(path: "../Models"),
        .package(path: "../Neighbours"), .package(path: "../Generating"), .package(path: "../Transports"),
        .package(path: "REPOSITORY"),
    ],
    targets: [
        .executableTarget(
            name: "App",
            dependencies: [
                "Client", "Stubs", "Models", "Neighbours", "Generating",
                .product(name: "Transports", package: "Transports"),
                networking,
            ]),
        // Programs without networking must link too.
        .executableTarget(name: "FoundationTool"),
        .executableTarget(name: "CTool"),
        .testTarget(name: "AppTests", dependencies: ["Client", "Stubs", networking]),
    ]
)
