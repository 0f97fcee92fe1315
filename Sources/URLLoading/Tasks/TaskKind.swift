internal import LoadingPipeline

/// What a task does with the body of its response.
enum TaskKind {
    case data
    /// The same, and the request carries this, perhaps less what another has sent.
    case upload(UploadContent, StoppedUpload?)
    /// To a file, perhaps one that has the beginning already.
    case download(StoppedDownload?)

    /// Whether the body goes where that of a data task goes.
    var isData: Bool { if case .download = self { false } else { true } }
}
