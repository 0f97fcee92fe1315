// swift-tools-version: 5.5
import PackageDescription

let package = Package(
    name: "Stubs",
    products: [.library(name: "Stubs", targets: ["Stubs"])],
    dependencies: [.package(path: "REPOSITORY")],
    targets: [
        .target(
            name: "Stubs",
            dependencies: [
                .product(
                    name: "FoundationNetworking", package: "PACKAGE", condition: .when(platforms: [.linux]))
            ])
    ]
)
