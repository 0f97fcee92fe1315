import Foundation

/// How a download can go on in another process, as it is kept beside what has come. No secrets.
struct DownloadRecord: Codable, Equatable {
    private var version = 1
    /// Without user information.
    var url: String
    /// Nil once the download is whole.
    var resumeData: Data?
    /// Tells whether the server's file is another one.
    var validator: String?
    /// The file with all of the body, which has only to be put in its place.
    var whole: FileIdentity?

    init(url: String, resumeData: Data?, validator: String?, whole: FileIdentity? = nil) {
        self.url = url
        self.resumeData = resumeData
        self.validator = validator
        self.whole = whole
    }

    /// Nil for what is none.
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
