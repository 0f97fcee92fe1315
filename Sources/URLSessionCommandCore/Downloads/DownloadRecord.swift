import Foundation

/// The persistent state of a download, from which a later process resumes. Contains no header fields of
/// the request, which may be secret.
struct DownloadRecord: Codable, Equatable {
    private var version = 1
    /// Without user information.
    var url: String
    /// Nil once the download is complete.
    var resumeData: Data?
    /// The ETag or Last-Modified value, to detect a changed file.
    var validator: String?
    /// The complete file, which only needs to be moved into place.
    var whole: FileIdentity?

    init(url: String, resumeData: Data?, validator: String?, whole: FileIdentity? = nil) {
        self.url = url
        self.resumeData = resumeData
        self.validator = validator
        self.whole = whole
    }

    /// Nil if `data` is not a valid record.
    init?(_ data: Data) {
        guard let known = try? JSONDecoder().decode(Self.self, from: data), known.version == 1 else { return nil }
        self = known
    }

    var encoded: Data? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try? encoder.encode(self)
    }
}

/// Identifies a file independently of its name.
struct FileIdentity: Codable, Equatable {
    var device: UInt64
    var inode: UInt64
    var size: Int64
}
