internal import FoundationEssentials
internal import LoadingConnections
internal import LoadingSemantics

/// A limited number of bytes of a stream of unknown length, for a server that accepts no more in one request (RES-21).
final class LimitedBodySource: RequestBodySource {
    private let source: any RequestBodySource
    private var left: Int64

    init(_ source: any RequestBodySource, _ most: Int64) {
        self.source = source
        left = most
    }

    var isUnread: Bool { source.isUnread }

    func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void) {
        guard left > 0 else {
            source.cancel()
            return deliver(.success(.end))
        }
        source.nextPiece(mayBePiped: false) { [self] piece in
            guard case .success(.bytes(let data)) = piece else { return deliver(piece) }
            let taken = data.prefix(Int(clamping: left))
            left -= Int64(taken.count)
            deliver(.success(.bytes(taken)))
        }
    }

    func cancel() { source.cancel() }
}
