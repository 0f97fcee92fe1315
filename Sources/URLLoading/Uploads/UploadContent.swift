internal import Foundation
internal import LoadingPipeline
internal import LoadingTransport

/// The content of an upload task, which replaces the body of its request (T-53).
enum UploadContent {
    case data(Data)
    case file(URL)
    /// A source of unknown length that is read to its end: a pipe, a device, a file in `/proc`.
    case pipe(URL)
    /// A stream that the delegate provides.
    case stream

    /// The content for a file URL. A file that is not regular, or that has size 0 but contains bytes, is read as a
    /// pipe.
    static func of(_ file: URL) -> UploadContent {
        var status = stat()
        // With a zero byte in it the path is that of no file; the system would take it for the end of the path.
        guard file.isFileURL, !file.path.utf8.contains(0), stat(file.path, &status) == 0 else { return .file(file) }
        return switch status.st_mode & S_IFMT {
        case S_IFREG: status.st_size == 0 && hasBytes(file.path) ? .pipe(file) : .file(file)
        case S_IFDIR: .file(file)
        default: .pipe(file)
        }
    }

    private static func hasBytes(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var byte: UInt8 = 0
        return read(descriptor, &byte, 1) == 1
    }

    /// A new stream of a `pipe`; nil if its bytes cannot be read again.
    func newStream() -> InputStream? {
        guard case .pipe(let url) = self else { return nil }
        var status = stat()
        guard stat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        return InputStream(url: url)
    }

    /// T-15
    func knownLength(of request: URLRequest) -> Int64 {
        switch self {
        case .data(let data): return Int64(data.count)
        case .stream, .pipe: return request.announcedBodyLength ?? NSURLSessionTransferSizeUnknown
        case .file(let url):
            var status = stat()
            guard url.isFileURL, stat(url.path, &status) == 0 else { return 0 }
            return Int64(status.st_size)
        }
    }

    func body(of request: URLRequest, on loop: EventLoop) -> LoadBody {
        switch self {
        case .data(let data): data.isEmpty ? .none : .bytes(data)
        // A URL that is not a file URL fails like a missing file.
        case .file(let url): .file(FileReader(path: url.isFileURL ? url.path : "", on: loop))
        case .pipe(let url):
            .stream(
                InputStream(url: url).map { InputStreamSource($0, on: loop) }, length: request.announcedBodyLength)
        case .stream: .stream(nil, length: request.announcedBodyLength)
        }
    }
}

extension TaskKind {
    /// The length of the body in bytes: 0 without a body, −1 if unknown (T-15).
    func knownBodyLength(of request: URLRequest) -> Int64 {
        switch self {
        case .upload(let content, _): content.knownLength(of: request)
        case .stream, .webSocket: NSURLSessionTransferSizeUnknown
        case .data, .download: request.knownBodyLength
        }
    }
}
