/// How a body of a media type is displayed on a terminal.
package enum MediaType: Equatable, Sendable {
    case json, text, binary, unknown

    package init(_ mimeType: String?) {
        guard let type = mimeType?.lowercased(), !type.isEmpty else {
            self = .unknown
            return
        }
        if type == "application/json" || type.hasSuffix("+json") || type == "application/x-ndjson" {
            self = .json
        } else if type.hasPrefix("text/") || type.hasSuffix("+xml") || Self.textTypes.contains(type) {
            self = .text
        } else if Self.binaryPrefixes.contains(where: { type.hasPrefix($0) }) || Self.binaryTypes.contains(type) {
            self = .binary
        } else {
            self = .unknown
        }
    }

    private static let textTypes: Set<String> = [
        "application/xml", "application/javascript", "application/ecmascript", "application/x-www-form-urlencoded",
        "application/yaml", "application/toml", "application/sql", "application/x-sh", "application/graphql",
    ]
    private static let binaryPrefixes = ["image/", "audio/", "video/", "font/"]
    private static let binaryTypes: Set<String> = [
        "application/zip", "application/gzip", "application/pdf", "application/wasm", "application/x-tar",
        "application/zstd", "application/x-xz", "application/x-bzip2", "application/x-7z-compressed",
    ]

    /// Whether the first bytes of a body contain control characters that text does not have.
    package static func looksBinary(_ bytes: some Sequence<UInt8>) -> Bool {
        for byte in bytes.prefix(1024) {
            switch byte {
            case 0x00...0x06, 0x0E...0x1A, 0x1C...0x1F: return true
            default: continue
            }
        }
        return false
    }
}
