import Foundation
import LoadingConnections
import LoadingSemantics

/// A stream of bytes that a client gives. Confined to the loop.
final class FakeBodySource: RequestBodySource, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    private(set) var isUnread = true
    private(set) var isCancelled = false
    private var rest: Data

    init(_ text: String = "") { rest = Data(text.utf8) }

    func nextPiece(mayBePiped: Bool, _ deliver: @escaping (Result<BodyPiece, LoadError>) -> Void) {
        isUnread = false
        guard !rest.isEmpty else { return deliver(.success(.end)) }
        let piece = rest
        rest = Data()
        deliver(.success(.bytes(piece)))
    }

    func cancel() { isCancelled = true }

    /// As if some of it had been sent.
    func touch() { isUnread = false }
}
