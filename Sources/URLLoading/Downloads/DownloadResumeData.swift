internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics

/// Resume data of a download: a resume point as a property list (RES-10).
///
/// It is untrusted, because the program may have stored it anywhere. The file is only looked up among the session's
/// temporary files.
struct DownloadResumeData: Codable {
    private var version = 1
    private var originalURL: String
    private var url: String
    private var fields: [[String]]
    private var entityTag: String?
    private var lastModified: String?
    private var modificationTime: String?
    private var bytesReceived: Int64
    private var total: Int64?
    private var fileName: String
    private var options: RequestOptions?
    /// Created while the download was running. Then the length of the file counts, not `bytesReceived`.
    private var isUnderWay: Bool?

    /// - Parameter request: That of the download.
    init(_ point: DownloadResumePoint, of request: URLRequest, isUnderWay: Bool = false) {
        self.isUnderWay = isUnderWay ? true : nil
        options = RequestOptions(request)
        originalURL = point.originalURL
        url = point.url
        let names = point.requestFields
        fields = (0..<names.count).map { [names.name(at: $0), names.value(at: $0)] }
        switch point.validator {
        case .entityTag(let tag): entityTag = tag
        case .lastModified(let date): lastModified = date
        case .modificationTime(let time): modificationTime = time
        }
        bytesReceived = point.bytesReceived
        total = point.total
        fileName = point.fileName
    }

    /// Nil if `data` is not valid resume data.
    init?(_ data: Data) {
        guard let known: Self = ResumePropertyList.decode(data), known.version == 1 else { return nil }
        self = known
    }

    var withoutFields: Self {
        var copy = self
        copy.fields = []
        return copy
    }

    var encoded: Data? { ResumePropertyList.encode(self) }

    /// The resume point. Nil if it is invalid (RES-8).
    var point: DownloadResumePoint? {
        let validator: ResumeValidator
        switch (entityTag, lastModified, modificationTime) {
        case (let tag?, _, _): validator = .entityTag(tag)
        case (nil, let date?, _): validator = .lastModified(date)
        case (nil, nil, let time?): validator = .modificationTime(time)
        case (nil, nil, nil): return nil
        }
        var requestFields = HTTPFields()
        for field in fields where field.count == 2 { requestFields.append(field[0], field[1]) }
        return DownloadResumePoint(
            originalURL: originalURL, url: url, requestFields: requestFields, validator: validator,
            bytesReceived: bytesReceived, total: total, fileName: fileName)
    }

    /// The file name, or nil if it is not the plain name of a temporary download file.
    var safeFileName: String? {
        // Octets, because a character may be "/" and an accent.
        let isName = !fileName.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
        return isName && fileName.hasPrefix("CFNetworkDownload_") ? fileName : nil
    }

    /// The path and length of the partial file, if it exists.
    private func file(in folder: String) -> (path: String, length: Int64)? {
        guard let name = safeFileName else { return nil }
        let path = folder + "/" + name
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return (path, Int64(status.st_size))
    }

    /// The stopped download. Nil if its file is missing.
    func stopped(in folder: String) -> StoppedDownload? {
        guard let file = file(in: folder) else { return nil }
        let point =
            isUnderWay == true ? point?.counted(byFileOf: file.length) : point?.backed(byFileOf: file.length)
        guard let point else { return nil }
        return StoppedDownload(point: point, path: file.path)
    }

    /// The original request, and the request to the URL after redirects.
    var requests: (original: URLRequest, current: URLRequest)? {
        guard let point, let originalURL = URL(string: point.originalURL), let url = URL(string: point.url) else {
            return nil
        }
        var request = URLRequest(url: originalURL)
        if let options { request = options.applied(to: request) }
        for index in 0..<point.requestFields.count {
            request.addValue(
                point.requestFields.value(at: index), forHTTPHeaderField: point.requestFields.name(at: index))
        }
        var current = request
        current.url = url
        return (request, current)
    }
}
