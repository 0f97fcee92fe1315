import Foundation

/// The package uses Foundation alone. Its links are loaded by whatever Foundation finds in the process.
public struct Item: Codable, Equatable, Sendable {
    public static let revision = 1

    public var name: String
    public var link: URL

    public init(name: String, link: URL) {
        self.name = name
        self.link = link
    }

    public func contents() throws -> Data { try Data(contentsOf: link) }
}
