/// The parsed command line, with all defaults.
package struct CommandLineRequest: Equatable, Sendable {
    package enum Body: Equatable, Sendable {
        case none
        case text(String)
        case file(String)
        case standardInput
        /// Joined with `&`.
        case pieces([DataPiece])
        case form([FormPart])
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
    /// Data for the query of the URL (`-G`).
    package var query: [DataPiece] = []
    /// `-r`, without the unit.
    package var range: String?
    /// `-z`: a date or a file, after `-` if the response must be older.
    package var timeCondition: String?
    package var referer: String?
    package var bearer: String?
    /// `-b`: texts with `=`, and files.
    package var cookieSources: [String] = []
    package var cookieJar: String?
    package var leavesOutSessionCookies = false
    package var session: NamedSession.Selection?
    package var version: Version?
    package var userAgent: String?
    package var destination = Destination.standardOutput(exactly: false)
    package var followsRedirects = true
    package var maximumRedirects: Int?
    /// Limit for the whole load, in seconds (`timeoutIntervalForResource`).
    package var timeout: Double?
    /// Limit without progress, in seconds (`timeoutIntervalForRequest`).
    package var idleTimeout: Double?
    /// Limit until a connection is there, in seconds.
    package var connectTimeout: Double?
    package var retry = RetryOptions()
    /// Bytes per second.
    package var rateLimit: Int?
    /// The largest body, in bytes.
    package var maximumFileSize: Int?
    package var network = NetworkOptions()
    package var minimumTLS: TLSVersionNumber?
    package var maximumTLS: TLSVersionNumber?
    /// Accepts any certificate.
    package var isInsecure = false
    /// A file with the only certificate authorities to trust.
    package var authorityPath: String?
    /// A file with the client's certificate and key, optionally followed by a colon and a password.
    package var certificate: String?
    /// A file with the private key, if `certificate` does not contain it.
    package var key: String?
    package var keyPassword: String?
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
    /// Whether the body of such a response is written nevertheless.
    package var keepsErrorBody = false
    /// Lets the server name the file of `-O`.
    package var usesServerName = false
    package var outputFolder: String?
    package var createsFolders = false
    /// Gives the file the time of `Last-Modified`.
    package var keepsRemoteTime = false
    /// The file of the response heads; `-` for standard output.
    package var headPath: String?
    package var writeOut: WriteOutFormat?
    /// The place among the URLs of the command line, from 0.
    package var number = 0
    package var showsProgress = true
    package var color = ColorChoice.auto
    package var showsMetrics = false
    /// Prints every delegate callback.
    package var showsTrace = false
    /// Sends the body with an upload task.
    package var isUpload = false
    /// As `isUpload`, but as curl's `-T` without a `Content-Type`.
    package var isPut = false
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
    /// Several URLs.
    case loads([CommandLineRequest], SeriesOptions)
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
    case completion(CompletionShell)
    case manual
}
