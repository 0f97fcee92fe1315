internal import FoundationEssentials
internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// Prepares the body of a request each time the request is sent: at first, after a redirect or a challenge, and after a
/// lost connection (T-51). Bytes and files are sent again. For a stream that has been read from, the client is asked
/// for another when there is a connection to send it on (S-50). Confined to the load's loop.
final class BodyStage {
    typealias Ready = (Result<RequestBody, LoadError>) -> Void

    /// The part of the body to send: all of it, unless an upload resumes.
    struct Part: Equatable {
        var offset: Int64 = 0
        /// Nil: up to the end.
        var length: Int64?
    }

    /// A stream that was provided and may be unread, and its offset in the body.
    private var given: (source: any RequestBodySource, offset: Int64)?
    /// The stream of the original request. Shows whether another request brings another stream.
    private weak var first: (any RequestBodySource)?
    private var waiting: (ready: Ready, part: Part, length: Int64?)?
    /// Counts the requests for a stream. Only an answer to the last one is awaited.
    private var question = 0
    /// The facts of the file when it was last requested.
    private(set) var file: FileFacts?

    /// Passes the body to `ready`, now or later. `ask` requests a stream from the given offset; the client answers by
    /// `provide`. The `ready` of an earlier call is not called any more.
    func prepare(_ body: LoadBody, _ part: Part = Part(), asking ask: (Int64) -> Void, _ ready: @escaping Ready) {
        question += 1
        let before = waiting
        waiting = nil
        switch body {
        case .none: ready(.success(.none))
        case .bytes(let data): ready(part.of(data))
        case .file(let reader):
            let question = question
            reader.readFacts { [weak self] result in
                guard let self, self.question == question else { return }
                switch result {
                case .failure(let failure): ready(.failure(.cannotReadFile(failure.code)))
                case .success(let facts):
                    self.file = facts
                    ready(part.of(reader, facts))
                }
            }
        case .stream(let source, let length):
            if let source, source !== first {
                first = source
                given = (source, 0)
            }
            if let given, given.offset == part.offset, given.source.isUnread {
                return ready(.success(part.of(given.source, length)))
            }
            given = nil
            waiting = (ready, part, length)
            // The client has already been asked.
            if before?.part != part { ask(part.offset) }
        }
    }

    /// The client's answer to the request for a stream at this offset; nil if it has none. A late answer to an earlier
    /// request, for another offset, is dropped.
    func provide(_ source: (any RequestBodySource)?, from offset: Int64) {
        guard let waiting, waiting.part.offset == offset else {
            source?.cancel()
            return
        }
        self.waiting = nil
        guard let source else { return waiting.ready(.failure(.requestBodyStreamExhausted)) }
        given = (source, waiting.part.offset)
        waiting.ready(.success(waiting.part.of(source, waiting.length)))
    }

    /// The body is not needed any more.
    func cancel() {
        question += 1
        waiting = nil
        given = nil
    }
}

extension BodyStage.Part {
    fileprivate func of(_ data: Data) -> Result<RequestBody, LoadError> {
        guard let range = range(of: Int64(data.count)) else { return .failure(.requestBodyStreamExhausted) }
        guard !range.isEmpty else { return .success(.none) }
        // The range lies within the data, whose size is an Int.
        return .success(.bytes(data.dropFirst(Int(range.lowerBound)).prefix(range.count)))
    }

    fileprivate func of(_ reader: FileReader, _ facts: FileFacts) -> Result<RequestBody, LoadError> {
        guard let range = range(of: facts.length) else { return .failure(.requestBodyStreamExhausted) }
        let length = range.upperBound - range.lowerBound
        return .success(.source(FileBodySource(reader, from: range.lowerBound, length: length), length: length))
    }

    fileprivate func of(_ source: any RequestBodySource, _ length: Int64?) -> RequestBody {
        guard let wanted = self.length, length == nil else {
            return .source(source, length: announcedLength(of: length))
        }
        return .source(LimitedBodySource(source, wanted), length: nil)
    }

    /// How much of a stream of this length is sent; nil if unknown.
    func announcedLength(of total: Int64?) -> Int64? {
        guard let left = total.map({ max(0, $0 - offset) }) else { return nil }
        return length.map { min($0, left) } ?? left
    }

    /// Nil if the length of the body has changed.
    private func range(of total: Int64) -> Range<Int64>? {
        guard offset >= 0, offset <= total else { return nil }
        guard let length else { return offset..<total }
        let (end, overflows) = offset.addingReportingOverflow(length)
        return overflows || end > total || length < 0 ? nil : offset..<end
    }
}
