internal import Foundation
internal import LoadingPipeline

/// A callback of a task that was not delivered yet. The end is a `TaskEnding`.
enum TaskEvent {
    case waitingForConnectivity
    case challenge(PendingChallenge)
    /// A server has accepted a credential that must be stored.
    case credential(ChallengeCredential, URLProtectionSpace)
    case informationalResponse(HTTPURLResponse)
    /// The date of a delayed request is reached.
    case delayedRequest(URLRequest)
    case redirect(HTTPURLResponse, proposed: URLRequest)
    /// An upload continues at another origin.
    case uploadMove(HTTPURLResponse, proposed: URLRequest)
    case response(URLResponse)
    case data(Data)
    /// A piece of data from a custom protocol, which is delivered unmerged.
    case piece(Data)
    /// A custom protocol has loaded a cacheable response.
    case willCache(CachedURLResponse, reply: @Sendable (CachedURLResponse?) -> Void)
    /// The delegate has chosen `.becomeDownload`.
    case becomeDownload
    /// The delegate has chosen `.becomeStream`.
    case becomeStream
    /// A call of a completion handler, which is made even if the task is cancelled.
    case answer(TaskAnswer)
    /// Events of a stream task.
    case readClosed
    case writeClosed
    case betterRoute
    /// The connection of a stream is handed to the delegate.
    case captured(CapturedConnection)
    case webSocketOpened(subprotocol: String?)
    case webSocketClosed(URLSessionWebSocketTask.CloseCode, reason: Data)
    /// A body stream is needed, from this offset.
    case needsBody(offset: Int64)
    case sentBody(count: Int64, total: Int64, expected: Int64)
    case resumed(offset: Int64, expected: Int64)
    case wroteData(count: Int64, total: Int64, expected: Int64)

    /// The body data of the event.
    var body: Data? {
        switch self {
        case .data(let data), .piece(let data): data
        default: nil
        }
    }

    /// Whether it must be delivered even if the task is cancelled.
    var isAnswer: Bool { if case .answer = self { true } else { false } }

    /// Whether it reports how much of an upload the server has (RES-14).
    var isUploadReport: Bool {
        if case .informationalResponse(let response) = self { response.statusCode == 104 } else { false }
    }

    /// Calls the completion handler of an answer, which gets neither the session nor the task.
    consuming func deliverAnswer() {
        switch consume self {
        case .answer(let answer): answer.deliver()
        default: break
        }
    }

    /// Waiting pieces of a body below this size are merged. In bytes.
    private static let smallPiece = 16 * 1024

    /// Merges the next event into this one if one callback can deliver both: progress, and small pieces of a body. This
    /// bounds the overhead of small chunks.
    mutating func absorb(_ next: TaskEvent) -> Bool {
        // One case after the other: a switch over both events copies them.
        switch next {
        case .data(let piece):
            guard piece.count < Self.smallPiece, case .data(var before) = self, before.count < Self.smallPiece else {
                return false
            }
            // The buffer must be uniquely referenced, or appending would copy it.
            self = .data(Data())
            before.append(piece)
            self = .data(before)
        case .sentBody(let count, let total, let expected):
            guard case .sentBody(let before, let sum, _) = self, sum + count == total else { return false }
            self = .sentBody(count: before + count, total: total, expected: expected)
        case .wroteData(let count, let total, let expected):
            // The totals of a background transfer that starts again fall back (S-96).
            guard case .wroteData(let before, let sum, _) = self, sum + count == total else { return false }
            self = .wroteData(count: before + count, total: total, expected: expected)
        default: return false
        }
        return true
    }
}
