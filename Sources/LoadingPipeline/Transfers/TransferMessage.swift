package import FoundationEssentials

/// A message between the process that requests a transfer and the process that carries it out: a request, a report, or
/// an answer, in JSON with the version of the format.
package struct TransferMessage<Content: Codable & Sendable>: Sendable {
    package var content: Content

    package init(_ content: Content) { self.content = content }

    package func encoded() throws -> Data {
        try JSONEncoder().encode(Envelope(version: TransferFormat.version, content: content))
    }

    /// Throws `TransferFormat.UnknownVersion` for a message of another version, whatever its content.
    package init(decoding data: Data) throws {
        let decoder = JSONDecoder()
        let version = try decoder.decode(Version.self, from: data).version
        guard version == TransferFormat.version else { throw TransferFormat.UnknownVersion(version: version) }
        content = try decoder.decode(Envelope.self, from: data).content
    }

    private struct Version: Decodable {
        let version: Int
    }

    private struct Envelope: Codable {
        let version: Int
        let content: Content
    }
}

package enum TransferFormat {
    /// Raised with each change that an older reader would misinterpret.
    package static let version = 1

    package struct UnknownVersion: Error, Equatable {
        package let version: Int
    }
}
