internal import FoundationEssentials
internal import Glibc
internal import LoadingSemantics
package import LoadingTransport

/// A `file:` URL (MISC-15): a regular file, read in pieces while the client accepts more. Confined to the loop.
package final class FileSource: LoadSource {
    private let path: String
    private let sendsBody: Bool
    private let reader: FileReader
    private weak var load: SourceLoad?
    private var isPaused = false
    private var isReading = false
    private var isOver = false
    /// The announced length; nil for a file whose size is unknown before it is read, as in `/proc`.
    private var length: Int64?
    private var offset: Int64 = 0
    /// The first bytes, which determine the type, until they are delivered.
    private var start: Data? = Data()

    /// - Parameter sendsBody: False for HEAD, which requests only the type and the length.
    package init(path: String, sendsBody: Bool, on loop: EventLoop) {
        self.path = path
        self.sendsBody = sendsBody
        reader = FileReader(path: path, on: loop)
    }

    package func start(for load: SourceLoad) {
        self.load = load
        reader.readFacts { [self] facts in
            switch facts {
            case .success(let facts): if facts.length > 0 { length = facts.length }
            case .failure(let failure): end(.cannotReadFile(failure.code))
            }
        }
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
        reader.read(at: offset, most: ReadBuffers.size) { [self] result in
            isReading = false
            if isOver { return }
            switch result {
            case .success(let data): receive(data)
            case .failure(let failure): end(.cannotReadFile(failure.code))
            }
        }
    }

    private func receive(_ piece: Data) {
        // The file may have grown since its length was announced.
        let data = length.map { piece.prefix(Int(clamping: $0 - offset)) } ?? piece
        offset += Int64(data.count)
        let isAtEnd = data.isEmpty || offset == length
        // The response has announced more bytes than the file has.
        if isAtEnd, let length, offset < length { return end(.cannotReadFile(EIO)) }
        guard let start else { return deliver(nil, data, isLast: isAtEnd) }
        let first = start.isEmpty ? data : start + data
        // The length of a short file shows soon.
        if length == nil, !isAtEnd, first.count < ReadBuffers.size {
            self.start = first
            return read()
        }
        self.start = nil
        let response = SourceResponse(
            mimeType: mediaType(first), expectedLength: length ?? (isAtEnd ? Int64(first.count) : -1))
        deliver(response, sendsBody ? first : Data(), isLast: isAtEnd || !sendsBody)
    }

    private func deliver(_ response: SourceResponse?, _ data: Data, isLast: Bool) {
        isOver = isLast
        // If the client stops after the response, the load keeps the rest.
        if let response { load?.received(response) }
        load?.received(data)
        if isLast { load?.ended(nil) } else { read() }
    }

    private func end(_ error: LoadError?) {
        isOver = true
        load?.ended(error)
    }

    private func mediaType(_ start: Data) -> String? {
        let name = String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...])
        return MediaTypeSniffing.mediaType(
            contentType: nil, contentTypeOptions: nil, pathExtension: FileExtensions.fileExtension(ofName: name),
            start: Array(start.prefix(MediaTypeSniffing.length)))?.mimeType
    }
}
