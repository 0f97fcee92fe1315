internal import FoundationEssentials
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
package import LoadingTransport

/// A `file:` URL (MISC-15): a regular file, read in pieces while the client accepts more.
///
/// Opening and reading may block on a disk. They run between two turns with the loop lent, like a callback.
package final class FileSource: LoadSource, Callout, @unchecked Sendable {
    // Sendable because only one thread at a time reads and uses `file`; `isReading` marks that time and is confined to
    // the loop, as the rest is; and `wasStopped` is guarded by `lock`.

    private let path: String
    private let sendsBody: Bool
    private let loop: EventLoop

    // MARK: Confined to the loop

    private weak var load: SourceLoad?
    private var isPaused = false
    private var isReading = false
    private var isOver = false

    // MARK: Used by the reading thread

    private var file: OpenedFile?

    /// How many bytes one read requests.
    private static let pieceLength = 256 * 1024

    /// - Parameter sendsBody: False for HEAD, which requests only the type and the length.
    package init(path: String, sendsBody: Bool, on loop: EventLoop) {
        self.path = path
        self.sendsBody = sendsBody
        self.loop = loop
    }

    // MARK: On the loop

    package func start(for load: SourceLoad) {
        self.load = load
        read()
    }

    package func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        if !isPaused { read() }
    }

    package func stop() {
        isOver = true
        load = nil
    }

    private func read() {
        guard !isReading, !isPaused, !isOver else { return }
        isReading = true
        loop.callOut(self)
    }

    private func receive(_ outcome: Outcome) {
        isReading = false
        guard !isOver, let load else { return }
        switch outcome {
        case .failed(let error):
            isOver = true
            load.ended(error)
        case .read(let head, let data, let isLast):
            isOver = isLast
            // If the client stops after the response, the load keeps the rest.
            if let head { load.received(SourceResponse(mimeType: head.mimeType, expectedLength: head.length)) }
            load.received(data)
            if isLast { load.ended(nil) } else { read() }
        }
    }

    // MARK: With the loop lent

    private enum Outcome: Sendable {
        case read(Head?, Data, isLast: Bool)
        case failed(LoadError)
    }

    /// The facts known before the first byte.
    private struct Head: Sendable {
        var mimeType: String?
        var length: Int64
    }

    package func callOut() {
        let outcome: Outcome
        do throws(LoadError) { outcome = try nextPiece() } catch { outcome = .failed(error) }
        loop.post { self.receive(outcome) }
    }

    private func nextPiece() throws(LoadError) -> Outcome {
        if let file { return try file.next(Self.pieceLength) }
        let new = try OpenedFile(path, sendsBody: sendsBody)
        file = new
        return try new.next(Self.pieceLength)
    }

    /// A file that is being read. Every call may block on the disk.
    private final class OpenedFile {
        private let descriptor: Int32
        private let path: String
        private let sendsBody: Bool
        /// The announced length; nil for a file whose size is unknown before it is read, as in `/proc`.
        private let length: Int64?
        private var missing: Int64
        private var isFirst = true

        init(_ path: String, sendsBody: Bool) throws(LoadError) {
            // The system would take a zero byte for the end of the path.
            guard !path.utf8.contains(0) else { throw .cannotReadFile(ENOENT) }
            self.path = path
            self.sendsBody = sendsBody
            // Opening a pipe must not wait for its writer.
            descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { throw .cannotReadFile(errno) }
            var status = stat()
            let failure: Int32? =
                if fstat(descriptor, &status) != 0 { errno } else {
                    switch status.st_mode & S_IFMT {
                    case S_IFREG: nil
                    case S_IFDIR: EISDIR
                    // A device, a pipe or a socket is not loaded.
                    default: EACCES
                    }
                }
            if let failure {
                close(descriptor)
                throw .cannotReadFile(failure)
            }
            length = status.st_size > 0 ? Int64(status.st_size) : nil
            missing = length ?? .max
        }

        deinit { close(descriptor) }

        func next(_ most: Int) throws(LoadError) -> Outcome {
            let data = try read(most)
            missing -= Int64(data.count)
            let isAtEnd = data.count < most || missing == 0
            // The response has announced more bytes than the file has.
            if isAtEnd, length != nil, missing > 0 { throw .cannotReadFile(EIO) }
            guard isFirst else { return .read(nil, data, isLast: isAtEnd) }
            isFirst = false
            let head = Head(mimeType: mediaType(data), length: length ?? (isAtEnd ? Int64(data.count) : -1))
            return .read(head, sendsBody ? data : Data(), isLast: isAtEnd || !sendsBody)
        }

        private func mediaType(_ start: Data) -> String? {
            let name = String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
            return MediaTypeSniffing.mediaType(
                contentType: nil, contentTypeOptions: nil, pathExtension: FileExtensions.fileExtension(ofName: name),
                start: Array(start.prefix(MediaTypeSniffing.length)))?.mimeType
        }

        private func read(_ most: Int) throws(LoadError) -> Data {
            let wanted = Int(min(Int64(most), missing))
            var data = Data(count: wanted)
            var count = 0
            var failure: Int32 = 0
            data.withUnsafeMutableBytes { buffer in
                guard let start = buffer.baseAddress else { return }
                while count < wanted {
                    let got = Glibc.read(descriptor, start + count, wanted - count)
                    if got < 0, errno == EINTR { continue }
                    if got < 0 { failure = errno }
                    if got <= 0 { return }
                    count += got
                }
            }
            if failure != 0 { throw .cannotReadFile(failure) }
            data.count = count
            return data
        }
    }
}
