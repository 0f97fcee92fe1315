internal import FoundationEssentials
package import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// The body of the request.
extension Load {
    /// Has the body ready, also one that was sent before: whatever sends the request again goes this way. `send` is called
    /// at once or later, unless the load ends or somebody else asks meanwhile.
    func withBody(_ send: @escaping (RequestBody) -> Void) {
        supply.prepare(
            request.body, uploading?.part ?? BodyStage.Part(),
            asking: { offset in client?.load(self, needsBodyFrom: offset) },
            { [weak self] result in
                guard let self, !hasEnded else { return }
                exchangeIsActive()
                switch result {
                case .failure(let error): end(error)
                case .success(let body):
                    do throws(LoadError) {
                        try uploading?.willSend(body.length, of: supply.file)
                    } catch {
                        return end(error)
                    }
                    if let file = supply.file { client?.load(self, willSendBodyOf: file.length) }
                    send(body)
                }
            })
    }

    /// A stream is about to be asked for. What its request says of an upload depends on the length alone.
    func announceStream() throws(LoadError) {
        guard let uploading else { return }
        try uploading.willSend(uploading.part.announcedLength(of: request.body.announcedStreamLength), of: nil)
    }

    /// The client's stream, or nil if it has none: then the load fails (T-51).
    package func provideBody(_ source: (any RequestBodySource)?) { supply.provide(source) }

    /// The body of the request that the client is asked about.
    package var proposedBody: LoadBody? {
        if case .redirect(let next) = outstanding { next.body } else { nil }
    }
}

extension RequestBody {
    /// In bytes; nil if nobody knows.
    fileprivate var length: Int64? {
        switch self {
        case .none: 0
        case .bytes(let data): Int64(data.count)
        case .source(_, let length): length
        }
    }
}
