// swift-tools-version: 5.9
import PackageDescription

let package = Package(
    name: "Client",
    products: [.library(name: "Client", targets: ["Client"])],
    dependencies: [.package(path: "../Models"), .package(path: "REPOSITORY")],
    targets: [
        .target(
            name: "Client",
            dependencies: [
                "Models",
                .product(
                    name: "FoundationNetworking", package: "PACKAGE", condition: .when(platforms: [.linux])),
            ])
    ]
)
