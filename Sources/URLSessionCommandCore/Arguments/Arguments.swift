internal import LoadingSemantics

/// Parses a command line into a `CommandLineAction`. Accesses files by `ConfigurationFiles` only, and neither the
/// network nor the environment.
package struct Arguments {
    static let verbs: Set<String> = ["get", "post", "put", "delete", "head", "patch", "options"]

    var words: [String] = []
    var used: [CommandOption] = []
    /// How many of the used ones are those of the default file.
    private var defaultCount = 0
    /// Those of the command line, and of the files that it names.
    var given: ArraySlice<CommandOption> { used[defaultCount...] }
    var request = CommandLineRequest(url: "")
    var webSocket = WebSocketOptions()
    var security = ConnectOptions.Security.none
    var listsJSON = false
    var uploadedFile: String?
    var method: String?
    var data: [DataPiece] = []
    var json: CommandLineRequest.Body?
    var form: [FormPart] = []
    var usesQuery = false
    var uploads: [String] = []
    var outputs: [Output] = []
    var namesAllRemotely = false
    var series = SeriesOptions()
    private var wantsHelp = false
    private var wantsVersion = false
    /// Files whose switches are being read, to end cycles.
    private var openConfigurations: [String] = []
    /// What the command does not take, while the default file and the files that it names are being read.
    private var leftOut: Set<CommandOption> = []
    /// How often `-K` and `-w` have read standard input.
    private(set) var standardInputFiles = 0
    let files: ConfigurationFiles

    /// Where the body of one URL goes.
    enum Output: Equatable {
        case destination(CommandLineRequest.Destination)
        case remoteName
    }

    private init(_ files: ConfigurationFiles) { self.files = files }

    /// - Parameter files: Reads the files of `-K`, and names the default one.
    package static func parse(
        _ arguments: [String], files: ConfigurationFiles = .none
    ) throws(UsageError) -> CommandLineAction {
        var parser = Arguments(files)
        if let path = files.defaultPath, !["-q", "--disable"].contains(arguments.first) {
            try parser.readDefaults(path, for: firstWord(of: arguments))
            parser.defaultCount = parser.used.count
        }
        try parser.readAll(arguments)
        return try parser.action()
    }

    // MARK: Configuration files

    /// The switches of the default file that the command takes. The file is for all commands.
    private mutating func readDefaults(_ path: String, for word: String?) throws(UsageError) {
        let refused = Self.refused(by: word)
        guard word != "background", refused.count < CommandOption.allCases.count, let text = try files.readDefault(path)
        else { return }
        leftOut = refused.union(CommandOption.allCases.filter { $0.owner != nil && $0.owner != word })
        defer { leftOut = [] }
        openConfigurations.append(path)
        defer { openConfigurations.removeLast() }
        try applyAll(text, path)
    }

    private mutating func readConfiguration(_ path: String) throws(UsageError) {
        guard !openConfigurations.contains(path) else { throw UsageError("-K: '\(path)' reads itself") }
        openConfigurations.append(path)
        defer { openConfigurations.removeLast() }
        try applyAll(try read(path), path)
    }

    private mutating func applyAll(_ text: String, _ path: String) throws(UsageError) {
        for entry in try ConfigurationText.entries(of: text, path) {
            let (option, value) = try resolved(entry, path)
            if !leftOut.contains(option) { try apply(option, value) }
        }
    }

    private func resolved(
        _ entry: ConfigurationText.Entry, _ path: String
    ) throws(UsageError) -> (CommandOption, String) {
        let place = "'\(path)', line \(entry.line): "
        let option: CommandOption
        do throws(UsageError) {
            option =
                if entry.isLetter, let letter = entry.name.first {
                    try Self.option(letter)
                } else {
                    try Self.option(entry.name)
                }
        } catch {
            throw UsageError(place + error.message)
        }
        if option.takesValue {
            guard let value = entry.value else { throw UsageError("\(place)\(entry.name) needs a value") }
            return (option, value)
        }
        guard entry.value?.isEmpty ?? true else { throw UsageError("\(place)\(entry.name) takes no value") }
        return (option, "")
    }

    /// The first argument that is not a switch or its value.
    private static func firstWord(of arguments: [String]) -> String? {
        for case .word(let index) in ArgumentPiece.pieces(of: arguments) { return arguments[index] }
        return nil
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
        let option = try Self.option(name)
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
            let option = try Self.option(letter)
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

    private static func option(_ name: String) throws(UsageError) -> CommandOption {
        if let option = CommandOption(long: name) { return option }
        if let advice = RefusedOption.advice(long: name) { throw UsageError("--\(name): \(advice)") }
        let nearest = Suggestion.nearest(to: name, among: CommandOption.allNames)
        throw UsageError("unknown switch --\(name)" + (nearest.map { ": did you mean --\($0)?" } ?? ""))
    }

    private static func option(_ letter: Character) throws(UsageError) -> CommandOption {
        if let option = CommandOption(short: letter) { return option }
        if let advice = RefusedOption.advice(short: letter) { throw UsageError("-\(letter): \(advice)") }
        throw UsageError("unknown switch -\(letter)")
    }

    private mutating func apply(_ option: CommandOption, _ value: String) throws(UsageError) {
        used.append(option)
        switch option {
        case .method: method = try Self.method(value)
        case .header: request.headers.append(try Self.headerEdit(value))
        case .data: data.append(try .written(value, .withoutLineBreaks))
        case .dataBinary: data.append(try .written(value, .exact))
        case .dataRaw: data.append(DataPiece(.text(value)))
        case .dataURLEncoded: data.append(try .encoded(value))
        case .form: form.append(try .written(value))
        case .formString: form.append(try .plain(value))
        case .query: usesQuery = true
        case .uploadFile:
            guard !value.isEmpty else { throw UsageError("-T needs the name of a file, or - for standard input") }
            uploads.append(value)
        case .json:
            guard json == nil else { throw UsageError("--json can be given once") }
            json = try Self.body(value)
        case .output:
            guard !value.isEmpty else { throw UsageError("-o needs the name of a file, or - for standard output") }
            outputs.append(.destination(value == "-" ? .standardOutput(exactly: true) : .file(value)))
        case .remoteName: outputs.append(.remoteName)
        case .remoteNameAll: namesAllRemotely = true
        case .remoteHeaderName: request.usesServerName = true
        case .outputFolder:
            guard !value.isEmpty else { throw UsageError("--output-dir needs the name of a folder") }
            request.outputFolder = value
        case .createFolders: request.createsFolders = true
        case .remoteTime: request.keepsRemoteTime = true
        case .url: words.append(value)
        case .bearer: request.bearer = try Self.fieldValue(value, "--oauth2-bearer")
        case .referer: request.referer = try Self.referer(value)
        case .range: request.range = try Self.range(value)
        case .timeCondition:
            guard !value.isEmpty, value != "-" else { throw UsageError("-z needs a date or a file") }
            request.timeCondition = value
        case .cookie:
            request.cookieSources.append(value.contains("=") ? try Self.fieldValue(value, "-b") : value)
        case .cookieJar:
            guard !value.isEmpty else { throw UsageError("-c needs the name of a file, or - for standard output") }
            request.cookieJar = value
        case .junkSessionCookies: request.leavesOutSessionCookies = true
        case .session: request.session = try .named(value, isReadOnly: false)
        case .sessionReadOnly: request.session = try .named(value, isReadOnly: true)
        case .retry: request.retry.count = try Self.count(value, "--retry", from: 0)
        case .retryDelay: request.retry.delay = try Self.secondsOrZero(value, "--retry-delay")
        case .retryMaximumTime: request.retry.maximumTime = try Self.secondsOrZero(value, "--retry-max-time")
        case .retryAllErrors: request.retry.afterAllErrors = true
        case .retryRefused: request.retry.afterRefusal = true
        case .limitRate: request.rateLimit = try Self.size(value, "--limit-rate")
        case .maximumFileSize: request.maximumFileSize = try Self.size(value, "--max-filesize")
        case .parallel: series.isParallel = true
        case .parallelMaximum: series.maximumParallel = try Self.count(value, "--parallel-max", from: 1)
        case .failEarly: series.failsEarly = true
        case .proxy: request.network.proxy = try NetworkOptions.proxy(value)
        case .proxyUser:
            guard value.contains(":") else {
                throw UsageError("-U needs NAME:PASSWORD, or NAME: without a password: it is not asked for")
            }
            request.network.proxyUser = value
        case .noProxy: request.network.noProxy = value
        case .resolve: try request.network.resolve(value)
        case .connectTo: try request.network.connect(value)
        case .ipv4: request.network.destinations.families = .ipv4
        case .ipv6: request.network.destinations.families = .ipv6
        case .unixSocket, .abstractUnixSocket:
            guard !value.isEmpty, value.utf8.count < 107 else {
                throw UsageError("--\(option.long) needs a path of at most 106 bytes")
            }
            request.network.destinations.socketPath = option == .unixSocket ? value : "\0" + value
        case .key: request.key = value
        case .keyPassword: request.keyPassword = value
        case .tlsMinimum: request.minimumTLS = try .written(value, "--tls-min")
        case .tlsMaximum: request.maximumTLS = value == "default" ? nil : try .written(value, "--tls-max")
        case .tls1, .tls10: request.minimumTLS = .tls10
        case .tls11: request.minimumTLS = .tls11
        case .tls12: request.minimumTLS = .tls12
        case .tls13: request.minimumTLS = .tls13
        case .dumpHeader:
            guard !value.isEmpty else { throw UsageError("-D needs the name of a file, or - for standard output") }
            request.headPath = value
        case .writeOut: request.writeOut = try WriteOutFormat(try writeOutText(value))
        case .failWithBody:
            request.failsOnHTTPError = true
            request.keepsErrorBody = true
        case .configuration: try readConfiguration(value)
        case .noDefaults:
            guard used.count == 1 else { throw UsageError("-q must be the first switch") }
        // What they ask for is always so.
        case .progressBar, .noBuffer, .globOff: break
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
        case .connectTimeout: request.connectTimeout = try Self.seconds(value, "--connect-timeout")
        case .include: request.includesHead = true
        case .verbose: request.verbosity = min(request.verbosity + 1, 2)
        case .silent: request.isSilent = true
        case .showError: request.showsErrors = true
        case .fail:
            request.failsOnHTTPError = true
            request.keepsErrorBody = false
        case .userAgent:
            guard !value.isEmpty else { throw UsageError("-A needs a text: URLSession always sends User-Agent") }
            request.userAgent = try Self.fieldValue(value, "-A")
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
        request.retry.isGiven = given.contains(.retry)
        if words.first == "help" { return .help(try helpText()) }
        if wantsHelp { return .help(HelpText(of: words.first)) }
        if wantsVersion || words.first == "version" { return .version }
        if words.first == "demo" { return try demo() }
        for option in used {
            if let owner = option.owner, owner != words.first {
                throw UsageError("--\(option.long) belongs to '\(owner)'")
            }
        }
        let refused = Self.refused(by: words.first)
        for option in used where refused.contains(option) {
            throw UsageError("'\(words.first ?? "")' does not take --\(option.long)")
        }
        let action: CommandLineAction =
            switch words.first {
            case "download": try download()
            case "ws": try openWebSocket()
            case "connect": try connect()
            case "background": try background()
            case "completion": try completion()
            case "manual": .manual
            default: try loads()
            }
        try settleCombinations()
        return action
    }

    private func helpText() throws(UsageError) -> HelpText {
        guard words.count > 1 else { return .general }
        let all = Self.commands + Self.verbs
        guard words.count == 2 else { throw UsageError("'help' needs one command") }
        guard all.contains(words[1].lowercased()) else {
            let nearest = Suggestion.nearest(to: words[1], among: all)
            throw UsageError("no help for '\(words[1])'" + (nearest.map { ": did you mean '\($0)'?" } ?? ""))
        }
        return HelpText(of: words[1])
    }

    private func completion() throws(UsageError) -> CommandLineAction {
        guard words.count == 2, let shell = CompletionShell(rawValue: words[1]) else {
            let names = CompletionShell.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("'completion' needs one of \(names)")
        }
        return .completion(shell)
    }

    private func demo() throws(UsageError) -> CommandLineAction {
        guard words.count == 1 else { throw UsageError("'demo' takes no URL") }
        for option in used where option != .color && option != .noProgress && option != .noDefaults {
            throw UsageError("'demo' does not take --\(option.long)")
        }
        return .demo(color: request.color, showsProgress: request.showsProgress)
    }

    /// `download URL [FILE]`
    private mutating func download() throws(UsageError) -> CommandLineAction {
        guard words.count > 1, !words[1].isEmpty else { throw UsageError("'download' needs a URL") }
        guard words.count < 4 else { throw UsageError("one download at a time; '\(words[3])' is one too many") }
        request.url = words[1]
        try settleOutput("download")
        if words.count == 3 {
            guard !words[2].isEmpty, words[2] != "-" else { throw UsageError("'download' needs the name of a file") }
            guard outputs.isEmpty else {
                throw UsageError("two names for the file: '\(words[2])' and that of -o or -O")
            }
            request.destination = .file(words[2])
        } else if outputs.isEmpty || outputs == [.remoteName] {
            request.destination = .file(try URLArgument.remoteName(of: request.url, for: "'download'"))
        } else if request.destination.path == nil {
            throw UsageError("'download' needs the name of a file")
        }
        try settleFiles(of: [request])
        try settleVersion()
        return .download(request)
    }

    /// `upload FILE URL` is `put URL -d @FILE` with an upload task.
    mutating func readUpload() throws(UsageError) {
        guard words.count > 2, !words[1].isEmpty, words[1] != "-" else {
            throw UsageError("'upload' needs a file and a URL")
        }
        guard data.isEmpty, json == nil, form.isEmpty, uploads.isEmpty else {
            throw UsageError("'upload' takes its body from the file")
        }
        request.body = .file(words[1])
        request.isUpload = true
        words.removeFirst(2)
    }

    func backgroundMethod(isUpload: Bool) throws(UsageError) -> String {
        guard let method else { return isUpload ? "PUT" : "GET" }
        if !isUpload { throw UsageError("a background download is a GET; a file is sent with --upload") }
        return method
    }

    func conflictFree(_ new: String) throws(UsageError) -> String {
        if let method, method != new { throw UsageError("two methods: \(new) and \(method)") }
        return new
    }

    /// HTTP/2 and HTTP/3 are negotiated in the TLS handshake (ALPN), so they need https.
    func settleVersion() throws(UsageError) {
        guard let version = request.version, version != .http1 else { return }
        let scheme = URLArgument.complete(request.url).prefix { $0 != ":" }.lowercased()
        guard scheme != "https" else { return }
        throw UsageError("\(version.rawValue) needs https, not \(scheme)", exitCode: .unavailable)
    }

    // MARK: Values

    static func body(_ value: String) throws(UsageError) -> CommandLineRequest.Body {
        switch try DataPiece.written(value, .exact).source {
        case .text(let text): .text(text)
        case .file(let path): .file(path)
        case .standardInput: .standardInput
        }
    }

    private static func secondsOrZero(_ value: String, _ name: String) throws(UsageError) -> Double {
        guard let seconds = Double(value), seconds >= 0, seconds.isFinite else {
            throw UsageError("\(name) needs a number of seconds, not '\(value)'")
        }
        return seconds
    }

    private static func count(_ value: String, _ name: String, from least: Int) throws(UsageError) -> Int {
        guard let count = Int(value), count >= least else {
            throw UsageError("\(name) needs a whole number from \(least), not '\(value)'")
        }
        return count
    }

    private static func fieldValue(_ value: String, _ name: String) throws(UsageError) -> String {
        guard !value.utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }) else {
            throw UsageError("the value of \(name) has a line break in it")
        }
        return value
    }

    /// Nil for an empty text, with which curl sends no field.
    private static func referer(_ value: String) throws(UsageError) -> String? {
        guard !value.hasSuffix(";auto") else { throw UsageError("-e: URLSession sends no Referer of its own") }
        return value.isEmpty ? nil : try fieldValue(value, "-e")
    }

    /// `0-499`, `500-`, `-500`, several of them separated by commas. A number alone begins an open range, as in curl.
    private static func range(_ value: String) throws(UsageError) -> String {
        let parts = value.split(separator: ",", omittingEmptySubsequences: false)
        let isValid = parts.allSatisfy { part in
            let ends = part.split(separator: "-", omittingEmptySubsequences: false)
            guard ends.count <= 2, part != "-", !part.isEmpty else { return false }
            guard ends.allSatisfy({ $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } }) else { return false }
            // RFC 9110 section 14.1.1: a range that ends before it begins is invalid.
            let numbers = ends.compactMap { Int($0) }
            return numbers.count < 2 || numbers[0] <= numbers[1]
        }
        guard isValid else { throw UsageError("-r needs 0-499, 500- or -500, not '\(value)'") }
        return parts.count == 1 && !value.contains("-") ? value + "-" : value
    }

    private mutating func writeOutText(_ value: String) throws(UsageError) -> String {
        guard value.hasPrefix("@") else { return value }
        return try read(String(value.dropFirst()))
    }

    private mutating func read(_ path: String) throws(UsageError) -> String {
        if ["-", FileContents.standardInput].contains(path) { standardInputFiles += 1 }
        return try files.read(path)
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
            if !value.isEmpty, ReservedFields.treatment(of: name) == .ignored {
                throw UsageError("-H: URLSession sends its own \(name)" + Self.advice(forReserved: name))
            }
            guard !value.utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }) else {
                throw UsageError("the value of \(name) has a line break in it")
            }
            return value.isEmpty ? .remove(name: name) : .set(name: name, value: String(value))
        }
        if text.hasSuffix(";"), isToken(String(text.dropLast())) {
            let name = String(text.dropLast())
            guard ReservedFields.treatment(of: name) != .ignored else {
                throw UsageError("-H: URLSession sends its own \(name)" + Self.advice(forReserved: name))
            }
            return .set(name: name, value: "")
        }
        throw UsageError("-H needs 'Name: value', not '\(text)'")
    }

    private static func advice(forReserved name: String) -> String {
        name.lowercased() == "host" ? ": put the host into the URL, and its address into --connect-to or --resolve" : ""
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
