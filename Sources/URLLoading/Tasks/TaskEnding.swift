internal import LoadingPipeline
internal import LoadingSemantics

/// How a task ended, with its body.
struct TaskEnding {
    var error: LoadError?
    var body: LoadedBody
}
