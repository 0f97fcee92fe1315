internal import LoadingPipeline

/// What a task does with the body of its response.
enum TaskKind {
    case data
    /// The same, and the request carries this, perhaps less what another has sent.
    case upload(UploadContent, StoppedUpload?)
    /// To a file, perhaps one that has the beginning already.
    case download(StoppedDownload?)
    /// A connection to there, or that of a data task that has become a stream.
    case stream(StreamEndpoint?)

    /// Whether the body goes where that of a data task goes.
    var isData: Bool {
        switch self {
        case .data, .upload: true
        case .download, .stream: false
        }
    }
}
