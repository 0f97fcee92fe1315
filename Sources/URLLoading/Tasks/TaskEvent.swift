internal import Foundation
internal import LoadingPipeline

/// A call that a task makes to its caller. Its end is a `TaskEnding`.
enum TaskEvent {
    case waitingForConnectivity
    case challenge(PendingChallenge)
    /// A server has taken a credential that is to be kept.
    case credential(GivenCredential, URLProtectionSpace)
    case informationalResponse(HTTPURLResponse)
    /// The time of a request that was to wait has come.
    case delayedRequest(URLRequest)
    case redirect(HTTPURLResponse, proposed: URLRequest)
    /// An upload is to go on at another origin.
    case uploadMove(HTTPURLResponse, proposed: URLRequest)
    case response(URLResponse)
    case data(Data)
    /// What a protocol of the caller's has loaded at a time, which is told as it was given.
    case piece(Data)
    /// A protocol of the caller's has loaded what the cache may keep.
    case willCache(CachedURLResponse, reply: @Sendable (CachedURLResponse?) -> Void)
    /// The delegate wants the body in a file.
    case becomeDownload
    /// The delegate wants the connection itself.
    case becomeStream
    /// A handler's answer, which is given whatever becomes of the task.
    case answer(@Sendable () -> Void)
    /// The directions of a stream.
    case readClosed
    case writeClosed
    case betterRoute
    /// The connection of a stream is the delegate's.
    case captured(CapturedConnection)
    /// A stream for the body, or for what of it follows so many bytes.
    case needsBody(offset: Int64)
    case sentBody(count: Int64, total: Int64, expected: Int64)
    case resumed(offset: Int64, expected: Int64)
    case wroteData(count: Int64, total: Int64, expected: Int64)

    /// Its part of the body.
    var body: Data? {
        switch self {
        case .data(let data), .piece(let data): data
        default: nil
        }
    }

    /// Whether somebody waits for it, even of a task that was cancelled.
    var isAnswer: Bool { if case .answer = self { true } else { false } }

    /// Pieces of a body below this size are told together when they wait together.
    private static let smallPiece = 16 * 1024

    /// Takes the next event into this one, which nobody has heard of yet, where one call can tell both: progress, and
    /// small pieces of a body, so that what waits is mostly bytes, however small a server cuts its chunks.
    mutating func absorb(_ next: TaskEvent) -> Bool {
        if case .data(let piece) = next, piece.count < Self.smallPiece, case .data(var before) = self,
            before.count < Self.smallPiece
        {
            // Nobody else may hold them, or appending would copy what is there.
            self = .data(Data())
            before.append(piece)
            self = .data(before)
            return true
        }
        switch (self, next) {
        case (.sentBody(let before, let sum, _), .sentBody(let count, let total, let expected))
        where sum + count == total:
            self = .sentBody(count: before + count, total: total, expected: expected)
        case (.wroteData(let before, _, _), .wroteData(let count, let total, let expected)):
            self = .wroteData(count: before + count, total: total, expected: expected)
        default: return false
        }
        return true
    }
}
