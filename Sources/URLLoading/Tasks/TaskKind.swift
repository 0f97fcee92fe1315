internal import LoadingPipeline

/// The kind of a task.
enum TaskKind {
    case data
    /// An upload of this content, possibly resumed.
    case upload(UploadContent, StoppedUpload?)
    /// A download to a file, possibly resumed.
    case download(StoppedDownload?)
    /// A connection to an endpoint, or nil for the connection of a data task.
    case stream(StreamEndpoint?)
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
