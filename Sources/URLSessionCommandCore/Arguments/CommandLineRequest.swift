/// What one command line asks for, with every default filled in.
package struct CommandLineRequest: Equatable, Sendable {
    package enum Body: Equatable, Sendable {
        case none
        case text(String)
        case file(String)
        case standardInput
    }

    package enum Destination: Equatable, Sendable {
        /// Standard output; `exactly` sends the bytes as they are even to a terminal (`-o -`).
        case standardOutput(exactly: Bool)
        case file(String)
    }

    package enum HeaderEdit: Equatable, Sendable {
        case set(name: String, value: String)
        case remove(name: String)
    }

    /// The only version that may be spoken.
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
    /// Seconds for the whole load (`timeoutIntervalForResource`).
    package var timeout: Double?
    /// Seconds without any progress (`timeoutIntervalForRequest`).
    package var idleTimeout: Double?
    /// Takes any certificate.
    package var isInsecure = false
    /// A file with the only authorities to trust.
    package var authorityPath: String?
    /// A file with the client's certificate and key, perhaps with a password behind a colon.
    package var certificate: String?
    /// Hashes of keys, one of which the server must have.
    package var pins: [String] = []
    /// A name, and a password behind a colon if it is not to be asked for.
    package var user: String?
    /// Those that the user may be known by; all if there are none.
    package var schemes: Set<UserScheme> = []
    package var includesHead = false
    /// 0 quiet, 1 heads and events, 2 the same with secrets shown.
    package var verbosity = 0
    package var isSilent = false
    package var showsErrors = false
    package var failsOnHTTPError = false
    package var showsProgress = true
    package var color = ColorChoice.auto
    package var showsMetrics = false
    /// Prints every call of the delegate.
    package var showsTrace = false
    /// The body goes by an upload task.
    package var isUpload = false
    /// A download goes on where an earlier one stopped.
    package var resumes = true
    /// A download may take the place of a file that is there.
    package var replacesFile = false
    package var harPath: String?
    package var harIncludesSecrets = false

    /// Whether the archive has standard output for itself.
    var printsArchive: Bool { harPath == "-" }

    package init(url: String) {
        self.url = url
    }
}
