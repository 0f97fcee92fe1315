internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics

/// How the caller of a task gets what it loaded.
enum TaskResult {
    /// Through the delegate, as it comes.
    case delegate
    /// All at once, on the delegate queue.
    case handler(@Sendable (Data?, URLResponse?, (any Error)?) -> Void)
    /// In a file that lives as long as the call, on the delegate queue.
    case fileHandler(@Sendable (URL?, URLResponse?, (any Error)?) -> Void)
    /// All at once to an `async` caller, who waits on no queue.
    case continuation(@Sendable (Result<(Data, URLResponse), any Error>) -> Void)
    /// In a file that is the `async` caller's from then on.
    case fileContinuation(@Sendable (Result<(URL, URLResponse), any Error>) -> Void)
    /// To an `async` reader at its own pace.
    case feed(ByteFeed)
    /// Told.
    case nobody

    var isDelegate: Bool { if case .delegate = self { true } else { false } }

    /// Whether the result is told on the delegate queue.
    var usesQueue: Bool {
        switch self {
        case .delegate, .handler, .fileHandler: true
        case .continuation, .fileContinuation, .feed, .nobody: false
        }
    }
}

/// How a task ended, and what there is of its body.
struct TaskEnding {
    var error: LoadError?
    var body: LoadedBody
}
