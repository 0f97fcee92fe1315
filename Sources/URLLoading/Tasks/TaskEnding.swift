internal import LoadingPipeline
internal import LoadingSemantics

/// How a task ended, and what there is of its body.
struct TaskEnding {
    var error: LoadError?
    var body: LoadedBody
}
