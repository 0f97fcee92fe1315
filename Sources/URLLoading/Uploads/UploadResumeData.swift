internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// Resume data of an upload, a property list (RES-13). Contains the data to send, or the path, length and modification
/// time of the file.
///
/// It is untrusted, so all values are validated.
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
    private var options: RequestOptions?

    /// Nil if the content cannot be resumed.
    init?(_ stopped: StoppedUpload, of content: UploadContent, _ request: URLRequest) {
        let point = stopped.point
        options = RequestOptions(request)
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
        // The contents may differ the next time.
        case .pipe: return nil
        case .file(let file):
            guard let facts = stopped.file, file.isFileURL else { return nil }
            path = file.path
            fileLength = facts.length
            fileModified = facts.modified
        }
    }

    /// Nil if `data` is not valid resume data.
    init?(_ data: Data) {
        guard let known: Self = ResumePropertyList.decode(data), known.version == 1, known.kind == "upload" else {
            return nil
        }
        self = known
        guard stopped != nil, URL(string: known.url) != nil else { return nil }
    }

    var encoded: Data? { ResumePropertyList.encode(self) }

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

    /// The original request, without credentials.
    var request: URLRequest? {
        guard let address = URL(string: url) else { return nil }
        var request = URLRequest(url: address)
        if let options { request = options.applied(to: request) }
        request.httpMethod = method
        for field in fields where field.count == 2 { request.addValue(field[1], forHTTPHeaderField: field[0]) }
        return request
    }
}
