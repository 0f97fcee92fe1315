// swift-tools-version: 5.9
import PackageDescription

let networking: Target.Dependency = .product(
    name: "FoundationNetworking", package: "PACKAGE", condition: .when(platforms: [.linux]))

let package = Package(
    name: "Transports",
    products: [.library(name: "Transports", targets: ["Sessions", "Buffered", "Loaders"])],
    dependencies: [.package(path: "REPOSITORY")],
    targets: [
        .target(name: "Sessions", dependencies: [networking]),
        .target(name: "Buffered", dependencies: ["Sessions", networking]),
        .target(name: "Loaders", dependencies: [networking]),
    ]
)
