internal import LoadingPipeline

/// The kind of a task. What the others have is indirect, so that data tasks, which are most, stay small.
enum TaskKind {
    case data
    /// An upload of this content, possibly resumed.
    indirect case upload(UploadContent, StoppedUpload?)
    /// A download to a file, possibly resumed.
    indirect case download(StoppedDownload?)
    /// A connection to an endpoint, or nil for the connection of a data task.
    indirect case stream(StreamEndpoint?)
    case webSocket(WebSocketState)

    /// Whether the body is delivered like that of a data task.
    var isData: Bool {
        switch self {
        case .data, .upload: true
        case .download, .stream, .webSocket: false
        }
    }

    var isDownload: Bool { if case .download = self { true } else { false } }
    var isWebSocket: Bool { if case .webSocket = self { true } else { false } }
}
