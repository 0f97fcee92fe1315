/// A content coding that this library can undo (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
enum ContentCoding: Sendable, Equatable {
    case gzip, deflate, brotli, zstd

    /// The coding of that lower-case name, or nil if it is unknown.
    init?(name: String) {
        switch name {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        case "br": self = .brotli
        case "zstd": self = .zstd
        default: return nil
        }
    }
}
