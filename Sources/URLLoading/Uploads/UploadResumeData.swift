internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// Resume data of an upload as the caller keeps it, a property list (RES-13). It holds data that was to be sent, and
/// of a file its place and what it was like.
///
/// It may have been in anybody's hands, so nothing in it is believed but what makes sense.
struct UploadResumeData: Codable {
    private var version = 1
    private var kind = "upload"
    private var method: String
    private var url: String
    private var fields: [[String]]
    private var length: Int64?
    private var uploadURL: String
    private var maximumSize: Int64?
    private var maximumAppendSize: Int64?
    private var maximumAge: Int64?
    private var data: Data?
    private var path: String?
    private var fileLength: Int64?
    private var fileModified: Int64?

    /// Nil for what is no resumable content.
    init?(_ stopped: StoppedUpload, of content: UploadContent) {
        let point = stopped.point
        method = point.method
        url = point.url
        let names = point.fields
        fields = (0..<names.count).map { [names.name(at: $0), names.value(at: $0)] }
        length = point.length
        uploadURL = point.uploadURL
        maximumSize = point.limits.maximumSize
        maximumAppendSize = point.limits.maximumAppendSize
        maximumAge = point.limits.maximumAge
        switch content {
        case .data(let data): self.data = data
        case .stream: break
        // Nothing says that it is the same the next time.
        case .pipe: return nil
        case .file(let file):
            guard let facts = stopped.file, file.isFileURL else { return nil }
            path = file.path
            fileLength = facts.length
            fileModified = facts.modified
        }
    }

    /// Nil for what is no resume data.
    init?(_ data: Data) {
        guard let known = try? PropertyListDecoder().decode(Self.self, from: data), known.version == 1,
            known.kind == "upload"
        else { return nil }
        self = known
        guard stopped != nil, URL(string: known.url) != nil else { return nil }
    }

    var encoded: Data? {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return try? encoder.encode(self)
    }

    var stopped: StoppedUpload? {
        var names = HTTPFields()
        for field in fields where field.count == 2 { names.append(field[0], field[1]) }
        let limits = UploadLimits(
            maximumSize: maximumSize, maximumAppendSize: maximumAppendSize.flatMap { $0 > 0 ? $0 : nil },
            maximumAge: maximumAge)
        let point = UploadResumePoint(
            method: method, url: url, fields: names, length: length, uploadURL: uploadURL, limits: limits)
        guard let point else { return nil }
        guard path != nil else { return StoppedUpload(point: point, file: nil) }
        guard let fileLength, let fileModified else { return nil }
        return StoppedUpload(point: point, file: FileFacts(length: fileLength, modified: fileModified))
    }

    var content: UploadContent {
        if let data { return .data(data) }
        return path.map { .file(URL(fileURLWithPath: $0, isDirectory: false)) } ?? .stream
    }

    /// The request as it was made, without what would prove the user's identity.
    var request: URLRequest? {
        guard let address = URL(string: url) else { return nil }
        var request = URLRequest(url: address)
        request.httpMethod = method
        for field in fields where field.count == 2 { request.addValue(field[1], forHTTPHeaderField: field[0]) }
        return request
    }
}
