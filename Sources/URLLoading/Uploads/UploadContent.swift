internal import Foundation
internal import LoadingPipeline
internal import LoadingTransport

/// What an upload task sends, in place of a body of its request (T-53).
enum UploadContent {
    case data(Data)
    case file(URL)
    /// The delegate has it.
    case stream

    /// T-15
    func knownLength(of request: URLRequest) -> Int64 {
        switch self {
        case .data(let data): return Int64(data.count)
        case .stream: return request.announcedBodyLength ?? NSURLSessionTransferSizeUnknown
        case .file(let url):
            var status = stat()
            guard url.isFileURL, stat(url.path, &status) == 0 else { return 0 }
            return Int64(status.st_size)
        }
    }

    func body(of request: URLRequest, on loop: EventLoop) -> LoadBody {
        switch self {
        case .data(let data): data.isEmpty ? .none : .bytes(data)
        // What is no file at all is one that is not there.
        case .file(let url): .file(FileReader(path: url.isFileURL ? url.path : "", on: loop))
        case .stream: .stream(nil, length: request.announcedBodyLength)
        }
    }
}

extension TaskKind {
    /// Bytes that the body has: 0 without one, −1 if nobody has said (T-15).
    func knownBodyLength(of request: URLRequest) -> Int64 {
        switch self {
        case .upload(let content, _): content.knownLength(of: request)
        case .stream: NSURLSessionTransferSizeUnknown
        case .data, .download: request.knownBodyLength
        }
    }
}
