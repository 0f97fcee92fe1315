internal import LoadingSemantics

/// Loads of one or several URLs.
extension Arguments {
    mutating func loads() throws(UsageError) -> CommandLineAction {
        if words.first == "upload" { try readUpload() }
        if let verb = words.first, Self.verbs.contains(verb.lowercased()) {
            words.removeFirst()
            method = try conflictFree(verb.uppercased())
            if words.isEmpty { throw UsageError("'\(verb)' needs a URL") }
        }
        guard let first = words.first, !first.isEmpty else { throw UsageError("a URL is missing") }
        if words.count > 1, !first.contains(where: { ".:/".contains($0) }),
            let nearest = Suggestion.nearest(to: first, among: Self.commands + Array(Self.verbs))
        {
            throw UsageError("unknown command '\(first)': did you mean '\(nearest)'?")
        }
        try settleBody()
        try settleSeries()
        try settleStandardInput()
        var requests: [CommandLineRequest] = []
        for (number, url) in words.enumerated() { requests.append(try load(of: url, number)) }
        try settleFiles(of: requests)
        return requests.count == 1 ? .load(requests[0]) : .loads(requests, series)
    }

    /// The commands besides methods.
    static let commands = [
        "download", "upload", "ws", "connect", "background", "demo", "completion", "manual", "help", "version",
    ]

    private mutating func load(of url: String, _ number: Int) throws(UsageError) -> CommandLineRequest {
        guard !url.isEmpty else { throw UsageError("a URL is empty") }
        var load = request
        load.url = url
        load.number = number
        if number < uploads.count {
            let file = uploads[number]
            load.body = file == "-" || file == "." ? .standardInput : .file(file)
            load.isPut = true
            load.url = file == "-" || file == "." ? url : URLArgument.withFileName(of: file, url)
        }
        if load.isUpload || load.isPut { load.method = method ?? "PUT" } else { load.method = method ?? defaultMethod }
        if load.body != .none, load.method == "GET" || load.method == "HEAD" {
            throw UsageError(
                load.method == "GET"
                    ? "URLSession sends no body with GET; use post, or put the data into the URL's query with -G"
                    : "a HEAD request has no body: leave out -I, or put the data into the URL's query with -G")
        }
        switch number < outputs.count ? outputs[number] : namesAllRemotely ? .remoteName : nil {
        case nil: break
        case .destination(let destination): load.destination = destination
        case .remoteName: load.destination = .file(try URLArgument.remoteName(of: url))
        }
        let isRemoteName = (number < outputs.count ? outputs[number] : .remoteName) == .remoteName
        load.usesServerName = request.usesServerName && isRemoteName && load.destination.path != nil
        if let folder = request.outputFolder, let path = load.destination.path {
            load.destination = .file(folder + "/" + path)
        }
        request.url = load.url
        try settleVersion()
        if load.printsArchive, load.destination == .standardOutput(exactly: true) {
            throw UsageError("standard output cannot have both: --har - and -o -")
        }
        return load
    }

    /// Two outputs would overwrite each other in one file. One after the other, loads may replace a file.
    func settleFiles(of loads: [CommandLineRequest]) throws(UsageError) {
        let shared = [request.headPath, request.harPath, request.cookieJar].compactMap { $0 }.filter { $0 != "-" }
        // A file that the server names is not known yet.
        let bodies = loads.filter { !$0.usesServerName }.compactMap(\.destination.path)
        var names: [String: String] = [:]
        for (paths, mayRepeat) in [(shared, false), (bodies, !series.isParallel)] {
            var own: Set<String> = []
            for path in paths {
                guard let identity = files.identity(of: path) else { continue }
                if mayRepeat, own.contains(identity) { continue }
                if let other = names[identity] {
                    throw UsageError(
                        other == path
                            ? "two outputs for the file '\(path)'"
                            : "two outputs for one file: '\(other)' and '\(path)'")
                }
                names[identity] = path
                own.insert(identity)
            }
        }
    }

    private var defaultMethod: String { request.body == .none ? "GET" : "POST" }

    private mutating func settleBody() throws(UsageError) {
        let kinds = [!data.isEmpty, json != nil, !form.isEmpty, !uploads.isEmpty].filter { $0 }.count
        if json != nil, !data.isEmpty { throw UsageError("--json and --data exclude each other") }
        guard kinds < 2 else { throw UsageError("one body only: -d, --json, -F and -T exclude each other") }
        if usesQuery {
            guard json == nil, form.isEmpty, uploads.isEmpty, !request.isUpload else {
                throw UsageError("-G puts data into the query: use it with -d or --data-urlencode")
            }
            request.query = data
        } else if let json {
            request.body = json
            request.isJSON = true
        } else if !form.isEmpty {
            request.body = .form(form)
        } else if !data.isEmpty {
            request.body = body(of: data)
        }
    }

    private func body(of pieces: [DataPiece]) -> CommandLineRequest.Body {
        let texts = pieces.compactMap(\.plainText)
        if texts.count == pieces.count { return .text(texts.joined(separator: "&")) }
        if pieces.count == 1, pieces[0].coding == .exact {
            switch pieces[0].source {
            case .text(let text): return .text(text)
            case .file(let path): return .file(path)
            case .standardInput: return .standardInput
            }
        }
        return .pieces(pieces)
    }

    /// What does not go with the number of URLs, and what names no file.
    private func settleSeries() throws(UsageError) {
        guard uploads.count <= words.count else { throw UsageError("more -T than URLs") }
        guard outputs.count <= words.count else { throw UsageError("more -o and -O than URLs") }
        if request.usesServerName, !outputs.contains(.remoteName), !namesAllRemotely {
            throw UsageError("-J names the file of -O, which is missing")
        }
        if request.usesServerName, request.includesHead { throw UsageError("-J and -i exclude each other") }
        guard words.count > 1 else { return }
        for option in [CommandOption.har, .trace] where used.contains(option) {
            throw UsageError("--\(option.long) is about one URL")
        }
        let standardInputs = uploads.filter { $0 == "-" || $0 == "." }.count
        if request.body.isStandardInput || standardInputs > 1 {
            throw UsageError("standard input can be sent to one URL only")
        }
    }

    /// What reads standard input second would find nothing.
    private func settleStandardInput() throws(UsageError) {
        var readers = data.filter { $0.source == .standardInput }.count
        if json == .standardInput { readers += 1 }
        readers += form.filter { $0.content == .attachment("-") || $0.content == .textOfFile("-") }.count
        readers += uploads.filter { $0 == "-" || $0 == "." }.count
        readers += request.cookieSources.filter { $0 == "-" }.count + standardInputFiles
        guard readers < 2 else { throw UsageError("standard input can be read once") }
    }

    // MARK: What commands take

    /// The switches that a command does not take.
    static func refused(by command: String?) -> Set<CommandOption> {
        switch command {
        case "download": ofLoads.union(notForDownload)
        case "ws": ofLoads.union(notForWebSocket)
        case "connect": ofLoads.union(notForConnect)
        case "background": []
        case "demo", "completion", "manual", "help", "version": Set(CommandOption.allCases)
        default: []
        }
    }

    /// What only loads take whose bodies the command writes itself.
    private static let ofLoads: Set<CommandOption> = [
        .dataBinary, .dataRaw, .dataURLEncoded, .form, .formString, .query, .uploadFile, .range, .timeCondition,
        .retry, .retryDelay, .retryMaximumTime, .retryAllErrors, .retryRefused, .limitRate, .parallel,
        .parallelMaximum, .failEarly, .remoteNameAll, .remoteHeaderName, .outputFolder, .createFolders, .remoteTime,
        .dumpHeader, .writeOut, .failWithBody, .data, .json, .method, .head, .include, .url, .maximumFileSize,
        .cookieJar, .session, .sessionReadOnly,
    ]
    /// `download` is always a GET whose body is written to a file unchanged.
    private static let notForDownload: Set<CommandOption> = [.cookie, .junkSessionCookies]
    /// A WebSocket has no method and no body, and its responses are not printed.
    private static let notForWebSocket: Set<CommandOption> = [.remoteName, .http2, .http3, .junkSessionCookies]
    /// What belongs to HTTP.
    private static let notForConnect: Set<CommandOption> = [
        .header, .remoteName, .follow, .noFollow, .maximumRedirects, .http11, .http2, .http3, .fail, .compressed,
        .userAgent, .metrics, .har, .harSecrets, .user, .basic, .digest, .negotiate, .ntlm, .bearer, .referer, .cookie,
        .junkSessionCookies, .connectTimeout,
    ]

    /// The destination of a command that writes to one place.
    mutating func settleOutput(_ command: String) throws(UsageError) {
        guard outputs.count < 2 else { throw UsageError("'\(command)' takes one -o") }
        if case .destination(let destination)? = outputs.first { request.destination = destination }
    }
}

extension CommandLineRequest.Destination {
    /// Nil for standard output.
    var path: String? {
        if case .file(let path) = self { path } else { nil }
    }
}

extension CommandLineRequest.Body {
    fileprivate var isStandardInput: Bool {
        switch self {
        case .standardInput: true
        case .pieces(let pieces): pieces.contains { $0.source == .standardInput }
        case .form(let parts): parts.contains { $0.content == .attachment("-") || $0.content == .textOfFile("-") }
        case .none, .text, .file: false
        }
    }
}
