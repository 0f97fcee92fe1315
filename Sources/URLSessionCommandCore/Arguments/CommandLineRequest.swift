/// The parsed command line, with all defaults.
package struct CommandLineRequest: Equatable, Sendable {
    package enum Body: Equatable, Sendable {
        case none
        case text(String)
        case file(String)
        case standardInput
    }

    package enum Destination: Equatable, Sendable {
        /// Standard output. `exactly` writes unchanged bytes even to a terminal (`-o -`).
        case standardOutput(exactly: Bool)
        case file(String)
    }

    package enum HeaderEdit: Equatable, Sendable {
        case set(name: String, value: String)
        case remove(name: String)
    }

    /// The required HTTP version.
    package enum Version: String, Equatable, Sendable {
        case http1 = "HTTP/1.1"
        case http2 = "HTTP/2"
        case http3 = "HTTP/3"
    }

    package enum ColorChoice: String, Equatable, Sendable {
        case auto, always, never
    }

    package var url: String
    package var method = "GET"
    package var headers: [HeaderEdit] = []
    package var body = Body.none
    package var isJSON = false
    package var version: Version?
    package var userAgent: String?
    package var destination = Destination.standardOutput(exactly: false)
    package var followsRedirects = true
    package var maximumRedirects: Int?
    /// Limit for the whole load, in seconds (`timeoutIntervalForResource`).
    package var timeout: Double?
    /// Limit without progress, in seconds (`timeoutIntervalForRequest`).
    package var idleTimeout: Double?
    /// Accepts any certificate.
    package var isInsecure = false
    /// A file with the only certificate authorities to trust.
    package var authorityPath: String?
    /// A file with the client's certificate and key, optionally followed by a colon and a password.
    package var certificate: String?
    /// Hashes of public keys (`--pin`). The server's key must match one of them.
    package var pins: [String] = []
    /// A user name, optionally followed by a colon and a password.
    package var user: String?
    /// The allowed authentication schemes; empty allows all.
    package var schemes: Set<UserScheme> = []
    package var includesHead = false
    /// 0: nothing; 1: heads and events; 2: the same with secrets.
    package var verbosity = 0
    package var isSilent = false
    package var showsErrors = false
    package var failsOnHTTPError = false
    package var showsProgress = true
    package var color = ColorChoice.auto
    package var showsMetrics = false
    /// Prints every delegate callback.
    package var showsTrace = false
    /// Sends the body with an upload task.
    package var isUpload = false
    /// Resumes an earlier download.
    package var resumes = true
    /// A download may replace an existing file.
    package var replacesFile = false
    /// A background transfer waits for mains power and a network that is not metered.
    package var isDiscretionary = false
    package var harPath: String?
    package var harIncludesSecrets = false

    /// Whether the HAR archive is written to standard output.
    var printsArchive: Bool { harPath == "-" }

    package init(url: String) {
        self.url = url
    }
}

/// The command that the command line selects.
package enum CommandLineAction: Equatable, Sendable {
    case load(CommandLineRequest)
    /// `urlsession download`, to the file in `destination`.
    case download(CommandLineRequest)
    /// `urlsession ws`
    case webSocket(CommandLineRequest, WebSocketOptions)
    /// `urlsession connect`. The request's URL is that of the options.
    case connect(CommandLineRequest, ConnectOptions)
    /// `urlsession background`. The request is that of `add`, without a URL.
    case background(CommandLineRequest, BackgroundOptions)
    case demo(color: CommandLineRequest.ColorChoice, showsProgress: Bool)
    case help(HelpText)
    case version
}
