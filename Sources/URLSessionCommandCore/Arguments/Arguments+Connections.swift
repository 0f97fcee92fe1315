/// `ws` and `connect`.
extension Arguments {
    /// `ws URL`
    mutating func openWebSocket() throws(UsageError) -> CommandLineAction {
        guard words.count > 1, !words[1].isEmpty else { throw UsageError("'ws' needs a URL") }
        guard words.count == 2 else { throw UsageError("one WebSocket at a time; '\(words[2])' is one too many") }
        request.url = try URLArgument.webSocket(words[1])
        guard !request.printsArchive else { throw UsageError("standard output has the messages: use --har FILE") }
        try settleOutput("ws")
        try settleFiles(of: [request])
        try settleSentInput("ws")
        guard request.cookieSources.allSatisfy({ $0.contains("=") }) else {
            throw UsageError("'ws' takes -b with cookies (a=b), not with a file")
        }
        return .webSocket(request, webSocket)
    }

    /// `connect HOST PORT` or `connect HOST:PORT`
    mutating func connect() throws(UsageError) -> CommandLineAction {
        guard words.count > 1, words.count < 4 else { throw UsageError("'connect' needs a host and a port") }
        let (host, port) = try words.count == 3 ? (words[1], words[2]) : Self.hostAndPort(words[1])
        var options = ConnectOptions(host: Self.withoutBrackets(host), port: try Self.port(port))
        guard !options.host.isEmpty, !options.host.contains(where: { " /?#@\\[]".contains($0) }) else {
            throw UsageError("'\(host)' is not a host", exitCode: .malformedURL)
        }
        options.security = security
        try settleOutput("connect")
        try settleSentInput("connect")
        request.url = options.url
        return .connect(request, options)
    }

    /// Standard input is what the command sends.
    private func settleSentInput(_ command: String) throws(UsageError) {
        guard standardInputFiles == 0 else { throw UsageError("'\(command)' sends standard input: -K needs a file") }
    }

    // MARK: Values

    func only(_ new: ConnectOptions.Security) throws(UsageError) -> ConnectOptions.Security {
        guard security == .none || security == new else {
            throw UsageError("--tls and --starttls exclude each other, and one --starttls is enough")
        }
        return new
    }

    static func applicationProtocol(_ value: String) throws(UsageError) -> StartTLS.ApplicationProtocol {
        guard let known = StartTLS.ApplicationProtocol(rawValue: value.lowercased()) else {
            let names = StartTLS.ApplicationProtocol.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--starttls knows \(names), not '\(value)'")
        }
        return known
    }

    /// Bytes, or with K, M or G multiples of 1024.
    static func size(_ value: String, _ name: String) throws(UsageError) -> Int {
        let factors: [Character: Int] = ["k": 1 << 10, "m": 1 << 20, "g": 1 << 30]
        let factor = value.lowercased().last.flatMap { factors[$0] }
        let digits = factor == nil ? value[...] : value.dropLast()
        guard let count = Int(digits), count > 0 else {
            throw UsageError("\(name) needs a number of bytes, or 64K, 16M, 1G, not '\(value)'")
        }
        let (size, isTooLarge) = count.multipliedReportingOverflow(by: factor ?? 1)
        guard !isTooLarge else { throw UsageError("\(name): '\(value)' is too large") }
        return size
    }

    private static func hostAndPort(_ text: String) throws(UsageError) -> (String, String) {
        guard let colon = text.lastIndex(of: ":") else {
            throw UsageError("a port is missing: 'connect \(text) PORT'")
        }
        let host = text[..<colon]
        guard !host.contains(":") || host.hasPrefix("[") && host.hasSuffix("]") else {
            throw UsageError("put an IPv6 address in brackets ([::1]:25), or the port after a space")
        }
        return (String(host), String(text[text.index(after: colon)...]))
    }

    private static func withoutBrackets(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }

    private static func port(_ text: String) throws(UsageError) -> Int {
        guard let port = Int(text), 1...65535 ~= port else {
            throw UsageError("a port is a number from 1 to 65535, not '\(text)'")
        }
        return port
    }
}
