internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics

/// How the result of a task is delivered.
enum TaskResult {
    /// Through delegate callbacks.
    case delegate
    /// To a completion handler on the delegate queue.
    case handler(@Sendable (Data?, URLResponse?, (any Error)?) -> Void)
    /// To a completion handler on the delegate queue, as a file that is removed after the call.
    case fileHandler(@Sendable (URL?, URLResponse?, (any Error)?) -> Void)
    /// To an `async` caller, without a queue.
    case continuation(@Sendable (Result<(Data, URLResponse), any Error>) -> Void)
    /// To an `async` caller, as a file that the caller owns.
    case fileContinuation(@Sendable (Result<(URL, URLResponse), any Error>) -> Void)
    /// To an `async` reader, on demand.
    case feed(ByteFeed)
    /// The result was delivered.
    case delivered

    var isDelegate: Bool { if case .delegate = self { true } else { false } }

    /// Whether the result is delivered on the delegate queue.
    var usesQueue: Bool {
        switch self {
        case .delegate, .handler, .fileHandler: true
        case .continuation, .fileContinuation, .feed, .delivered: false
        }
    }
}

/// How a task ended, with its body.
struct TaskEnding {
    var error: LoadError?
    var body: LoadedBody
    /// Whether nothing is reported, because the service goes on with the task.
    var isSilent = false
}
