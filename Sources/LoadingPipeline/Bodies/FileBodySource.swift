internal import FoundationEssentials
internal import Glibc
internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// A request body that is read from a file: a number of bytes from an offset on. They go through a pipe if the
/// connection accepts that, else through one buffer at a time.
final class FileBodySource: RequestBodySource {
    private let reader: FileReader
    private var offset: Int64
    private let end: Int64
    private var pipe: SplicePipe?
    private var canPipe = true
    private var isCancelled = false
    private(set) var isUnread = true

    init(_ reader: FileReader, from offset: Int64, length: Int64) {
        self.reader = reader
        self.offset = offset
        end = offset + length
    }

    func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void) {
        isUnread = false
        guard offset < end, !isCancelled else { return deliver(.success(.end)) }
        if mayBePiped, let pipe = takePipe() {
            fill(pipe, deliver)
        } else {
            read(deliver)
        }
    }

    /// Has no effect before the first read, so that the body can be sent later.
    func cancel() { if !isUnread { isCancelled = true } }

    private func takePipe() -> SplicePipe? {
        if pipe == nil, canPipe {
            pipe = SplicePipe()
            canPipe = pipe != nil
        }
        return pipe
    }

    private func fill(_ pipe: SplicePipe, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void) {
        let most = Int(clamping: min(end - offset, Int64(SplicePipe.capacity)))
        reader.fill(pipe, at: offset, most: most) { [self] result in
            switch result {
            // Not every file system supports splice, and on some a splice does not wait for the disk.
            case .failure(let failure) where failure.code == EINVAL || failure.code == EAGAIN:
                canPipe = false
                self.pipe = nil
                read(deliver)
            case .failure(let failure): deliver(.failure(.bodyUnreadable(failure.code)))
            case .success(let count):
                deliverPiece(count, .piped(pipe, count), deliver)
            }
        }
    }

    private func read(_ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void) {
        let most = Int(clamping: min(end - offset, Int64(ReadBuffers.size)))
        reader.read(at: offset, most: most) { [self] result in
            switch result {
            case .failure(let failure): deliver(.failure(.bodyUnreadable(failure.code)))
            case .success(let data): deliverPiece(data.count, .bytes(data), deliver)
            }
        }
    }

    private func deliverPiece(_ count: Int, _ piece: BodyPiece, _ deliver: (Result<BodyPiece, LoadError>) -> Void) {
        // The file has become shorter since its length was announced.
        guard count > 0 else { return deliver(.failure(.requestBodyStreamExhausted)) }
        offset += Int64(count)
        deliver(.success(piece))
    }
}

extension LoadError {
    /// The error for a body that was partly sent and cannot be read further.
    fileprivate static func bodyUnreadable(_ error: Int32) -> LoadError {
        LoadError(code: LoadError.requestBodyStreamExhausted.code, cause: .posix(error))
    }
}
