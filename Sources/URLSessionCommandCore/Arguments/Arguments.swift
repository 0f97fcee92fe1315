/// Parses a command line into a `CommandLineAction`. Does not access files, the network or the environment.
package struct Arguments {
    private static let verbs: Set<String> = ["get", "post", "put", "delete", "head", "patch", "options"]

    var words: [String] = []
    var used: [CommandOption] = []
    var request = CommandLineRequest(url: "")
    var webSocket = WebSocketOptions()
    var security = ConnectOptions.Security.none
    var listsJSON = false
    var uploadedFile: String?
    private var method: String?
    private var data: [CommandLineRequest.Body] = []
    private var json: CommandLineRequest.Body?
    private var usesRemoteName = false
    private var wantsHelp = false
    private var wantsVersion = false

    private init() {}

    package static func parse(_ arguments: [String]) throws(UsageError) -> CommandLineAction {
        var parser = Arguments()
        try parser.readAll(arguments)
        return try parser.action()
    }

    // MARK: Reading

    private mutating func readAll(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                words += rest
                return
            } else if argument.hasPrefix("--") {
                try readLong(argument.dropFirst(2), &rest)
            } else if argument.hasPrefix("-"), argument != "-" {
                try readShort(argument.dropFirst(), &rest)
            } else {
                words.append(argument)
            }
        }
    }

    private mutating func readLong(_ text: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
        let equals = text.firstIndex(of: "=")
        let name = String(text[..<(equals ?? text.endIndex)])
        guard let option = CommandOption(long: name) else {
            let nearest = Suggestion.nearest(to: name, among: CommandOption.allNames)
            throw UsageError("unknown switch --\(name)" + (nearest.map { ": did you mean --\($0)?" } ?? ""))
        }
        if option == .json, words.first == "background" {
            guard equals == nil else { throw UsageError("'background' takes --json without a value") }
            used.append(option)
            listsJSON = true
        } else if !option.takesValue {
            guard equals == nil else { throw UsageError("--\(name) takes no value") }
            try apply(option, "")
        } else if let equals {
            try apply(option, String(text[text.index(after: equals)...]))
        } else if let value = rest.popFirst() {
            try apply(option, value)
        } else {
            throw UsageError("--\(name) needs a value")
        }
    }

    /// One dash can carry several switches (`-fsSL`), the last of them with its value attached (`-m5`).
    private mutating func readShort(_ text: Substring, _ rest: inout ArraySlice<String>) throws(UsageError) {
        var text = text
        while let letter = text.popFirst() {
            guard let option = CommandOption(short: letter) else {
                throw UsageError("unknown switch -\(letter)")
            }
            if !option.takesValue {
                try apply(option, "")
            } else if !text.isEmpty {
                return try apply(option, String(text))
            } else if let value = rest.popFirst() {
                try apply(option, value)
            } else {
                throw UsageError("-\(letter) needs a value")
            }
        }
    }

    private mutating func apply(_ option: CommandOption, _ value: String) throws(UsageError) {
        used.append(option)
        switch option {
        case .method: method = try Self.method(value)
        case .header: request.headers.append(try Self.headerEdit(value))
        case .data: data.append(try Self.body(value))
        case .json:
            guard json == nil else { throw UsageError("--json can be given once") }
            json = try Self.body(value)
        case .output:
            guard !value.isEmpty else { throw UsageError("-o needs the name of a file, or - for standard output") }
            request.destination = value == "-" ? .standardOutput(exactly: true) : .file(value)
        case .remoteName: usesRemoteName = true
        case .follow: request.followsRedirects = true
        case .noFollow: request.followsRedirects = false
        case .maximumRedirects:
            guard let count = Int(value), count >= 0 else {
                throw UsageError("--max-redirects needs a whole number, not '\(value)'")
            }
            request.maximumRedirects = count
        case .timeout: request.timeout = try Self.seconds(value, "-m")
        case .idleTimeout: request.idleTimeout = try Self.seconds(value, "--idle-timeout")
        // HTTP content codings are always accepted.
        case .compressed: webSocket.isCompressed = true
        case .http11: request.version = .http1
        case .http2: request.version = .http2
        case .http3: request.version = .http3
        case .insecure: request.isInsecure = true
        case .authority: request.authorityPath = value
        case .certificate: request.certificate = value
        case .pin: request.pins.append(value)
        case .user: request.user = value
        case .basic: request.schemes.insert(.basic)
        case .digest: request.schemes.insert(.digest)
        case .negotiate: request.schemes.insert(.negotiate)
        case .ntlm: request.schemes.insert(.ntlm)
        case .connectTimeout:
            throw UsageError(
                "--connect-timeout: URLSession has none; use --idle-timeout (no progress) or -m (whole load)")
        case .include: request.includesHead = true
        case .verbose: request.verbosity = min(request.verbosity + 1, 2)
        case .silent: request.isSilent = true
        case .showError: request.showsErrors = true
        case .fail: request.failsOnHTTPError = true
        case .userAgent: request.userAgent = value
        case .noProgress: request.showsProgress = false
        case .color:
            guard let choice = CommandLineRequest.ColorChoice(rawValue: value) else {
                throw UsageError("--color is auto, always or never, not '\(value)'")
            }
            request.color = choice
        case .metrics: request.showsMetrics = true
        case .trace: request.showsTrace = true
        case .subprotocol:
            guard Self.isToken(value) else { throw UsageError("'\(value)' is not the name of a subprotocol") }
            webSocket.protocols.append(value)
        case .binary: webSocket.isBinary = true
        case .whole: webSocket.sendsWhole = true
        case .ping: webSocket.pingInterval = try Self.seconds(value, "--ping")
        case .maximumMessage: webSocket.maximumMessageSize = try Self.size(value, "--max-message")
        case .wait: webSocket.wait = try Self.seconds(value, "--wait")
        case .tls: security = try only(.fromTheStart)
        case .startTLS: security = try only(.after(Self.applicationProtocol(value)))
        case .upload:
            guard !value.isEmpty else { throw UsageError("--upload needs the name of a file") }
            uploadedFile = value
        case .discretionary: request.isDiscretionary = true
        case .resume: request.resumes = true
        case .noResume: request.resumes = false
        case .force: request.replacesFile = true
        case .har: request.harPath = value
        case .harSecrets: request.harIncludesSecrets = true
        case .head: method = try conflictFree("HEAD")
        case .help: wantsHelp = true
        case .version: wantsVersion = true
        }
    }

    // MARK: Validating

    private mutating func action() throws(UsageError) -> CommandLineAction {
        if words.first == "help" { return .help(HelpText(of: words.dropFirst().first)) }
        if wantsHelp { return .help(HelpText(of: words.first)) }
        if wantsVersion || words.first == "version" { return .version }
        if words.first == "demo" { return try demo() }
        for option in used {
            if let owner = option.owner, owner != words.first {
                throw UsageError("--\(option.long) belongs to '\(owner)'")
            }
        }
        switch words.first {
        case "download": return try download()
        case "ws": return try openWebSocket()
        case "connect": return try connect()
        case "background": return try background()
        default: break
        }
        if words.first == "upload" { try readUpload() }
        if let verb = words.first, Self.verbs.contains(verb.lowercased()) {
            words.removeFirst()
            method = try conflictFree(verb.uppercased())
            if words.isEmpty { throw UsageError("'\(verb)' needs a URL") }
        }
        guard let url = words.first, !url.isEmpty else { throw UsageError("a URL is missing") }
        guard words.count == 1 else {
            let commands = Self.verbs.union([
                "download", "upload", "ws", "connect", "background", "demo", "help", "version",
            ])
            if let nearest = Suggestion.nearest(to: url, among: Array(commands)) {
                throw UsageError("unknown command '\(url)': did you mean '\(nearest)'?")
            }
            throw UsageError("one URL at a time; '\(words[1])' is one too many")
        }
        request.url = url
        try settleBody()
        if request.isUpload { method = method ?? "PUT" }
        request.method = method ?? (request.body == .none ? "GET" : "POST")
        if request.body != .none, request.method == "GET" {
            throw UsageError("URLSession sends no body with GET; use post, or put the data into the URL's query")
        }
        if usesRemoteName { request.destination = .file(try URLArgument.remoteName(of: url)) }
        try settleArchive()
        try settleVersion()
        return .load(request)
    }

    private func demo() throws(UsageError) -> CommandLineAction {
        guard words.count == 1 else { throw UsageError("'demo' takes no URL") }
        for option in used where option != .color && option != .noProgress {
            throw UsageError("'demo' does not take --\(option.long)")
        }
        return .demo(color: request.color, showsProgress: request.showsProgress)
    }

    /// `download URL [FILE]`
    private mutating func download() throws(UsageError) -> CommandLineAction {
        try refuse(Self.notForDownload, "download")
        guard words.count > 1, !words[1].isEmpty else { throw UsageError("'download' needs a URL") }
        guard words.count < 4 else { throw UsageError("one download at a time; '\(words[3])' is one too many") }
        request.url = words[1]
        if words.count == 3 {
            guard !words[2].isEmpty, words[2] != "-" else { throw UsageError("'download' needs the name of a file") }
            guard case .standardOutput = request.destination, !usesRemoteName else {
                throw UsageError("two names for the file: '\(words[2])' and that of -o or -O")
            }
            request.destination = .file(words[2])
        } else if case .standardOutput = request.destination {
            request.destination = .file(try URLArgument.remoteName(of: request.url, for: "'download'"))
        }
        try settleArchive()
        try settleVersion()
        return .download(request)
    }

    /// Switches that `download` does not accept: it is always a GET whose body is written to a file unchanged.
    private static let notForDownload: Set<CommandOption> = [.method, .data, .json, .include, .head]

    /// `upload FILE URL` is `put URL -d @FILE` with an upload task.
    private mutating func readUpload() throws(UsageError) {
        guard words.count > 2, !words[1].isEmpty, words[1] != "-" else {
            throw UsageError("'upload' needs a file and a URL")
        }
        guard data.isEmpty, json == nil else { throw UsageError("'upload' takes its body from the file") }
        data = [.file(words[1])]
        request.isUpload = true
        words.removeFirst(2)
    }

    func refuse(_ options: Set<CommandOption>, _ command: String) throws(UsageError) {
        for option in used where options.contains(option) {
            throw UsageError("'\(command)' does not take --\(option.long)")
        }
    }

    func backgroundMethod(isUpload: Bool) throws(UsageError) -> String {
        guard let method else { return isUpload ? "PUT" : "GET" }
        if !isUpload { throw UsageError("a background download is a GET; a file is sent with --upload") }
        return method
    }

    private func conflictFree(_ new: String) throws(UsageError) -> String {
        if let method, method != new { throw UsageError("two methods: \(new) and \(method)") }
        return new
    }

    func settleArchive() throws(UsageError) {
        if request.harIncludesSecrets, request.harPath == nil {
            throw UsageError("--har-with-secrets needs --har FILE")
        }
        if request.printsArchive, request.destination == .standardOutput(exactly: true) {
            throw UsageError("standard output cannot have both: --har - and -o -")
        }
    }

    /// HTTP/2 and HTTP/3 are negotiated in the TLS handshake (ALPN), so they need https.
    private func settleVersion() throws(UsageError) {
        guard let version = request.version, version != .http1 else { return }
        let scheme = URLArgument.complete(request.url).prefix { $0 != ":" }.lowercased()
        guard scheme != "https" else { return }
        throw UsageError("\(version.rawValue) needs https, not \(scheme)", exitCode: .unavailable)
    }

    private mutating func settleBody() throws(UsageError) {
        if let json {
            guard data.isEmpty else { throw UsageError("--json and --data exclude each other") }
            request.body = json
            request.isJSON = true
            return
        }
        if data.count < 2 {
            request.body = data.first ?? .none
            return
        }
        var parts: [String] = []
        for piece in data {
            guard case .text(let text) = piece else {
                throw UsageError("a file or standard input must be the only --data")
            }
            parts.append(text)
        }
        request.body = .text(parts.joined(separator: "&"))
    }

    // MARK: Values

    private static func body(_ value: String) throws(UsageError) -> CommandLineRequest.Body {
        if value == "@-" { return .standardInput }
        guard value.hasPrefix("@") else { return .text(value) }
        guard value.count > 1 else { throw UsageError("'@' needs the name of a file, or - for standard input") }
        return .file(String(value.dropFirst()))
    }

    private static func seconds(_ value: String, _ name: String) throws(UsageError) -> Double {
        guard let seconds = Double(value), seconds > 0, seconds.isFinite else {
            throw UsageError("\(name) needs a number of seconds above zero, not '\(value)'")
        }
        return seconds
    }

    private static func method(_ value: String) throws(UsageError) -> String {
        guard isToken(value) else { throw UsageError("'\(value)' is not a method") }
        let upper = value.uppercased()
        return verbs.contains(value.lowercased()) ? upper : value
    }

    /// `Name: value` sets a field, `Name;` sets it to an empty value, `Name:` removes it.
    private static func headerEdit(_ text: String) throws(UsageError) -> CommandLineRequest.HeaderEdit {
        if let colon = text.firstIndex(of: ":") {
            let name = String(text[..<colon])
            let value = text[text.index(after: colon)...].trimmingBlanks()
            guard isToken(name) else { throw UsageError("'\(name)' is not the name of a header field") }
            guard !value.utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }) else {
                throw UsageError("the value of \(name) has a line break in it")
            }
            return value.isEmpty ? .remove(name: name) : .set(name: name, value: String(value))
        }
        if text.hasSuffix(";"), isToken(String(text.dropLast())) {
            return .set(name: String(text.dropLast()), value: "")
        }
        throw UsageError("-H needs 'Name: value', not '\(text)'")
    }

    /// RFC 9110 section 5.6.2.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}

extension Substring {
    fileprivate func trimmingBlanks() -> Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}

/// An invalid command line, with a message of one line.
package struct UsageError: Error, Equatable, Sendable {
    package var message: String
    package var exitCode: ExitCode

    package init(_ message: String, exitCode: ExitCode = .usage) {
        self.message = message
        self.exitCode = exitCode
    }
}
