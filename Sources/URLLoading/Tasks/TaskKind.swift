internal import LoadingPipeline

/// What a task does with the body of its response.
enum TaskKind {
    case data
    /// To a file, perhaps one that has the beginning already.
    case download(StoppedDownload?)

    var isData: Bool { if case .data = self { true } else { false } }
}
