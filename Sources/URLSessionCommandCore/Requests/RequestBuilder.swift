package import Foundation
internal import LoadingSemantics
package import URLLoading

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Builds the `URLRequest`, its body and the session configuration from the command line.
package struct RequestBuilder {
    package enum Body: Equatable {
        case none
        case data(Data)
        case file(URL)
        case standardInput
        /// Not a regular file, or one whose reported size is wrong.
        case stream(URL)
        /// Several sources, one after the other.
        case composed(ComposedBody)

        /// In bytes; nil if it is not known before the end. It is sent if it is known.
        fileprivate var length: Int64? {
            switch self {
            case .none: 0
            case .data(let data): Int64(data.count)
            case .file(let url):
                ((try? FileManager.default.attributesOfItem(atPath: url.path))?[.size] as? NSNumber)?.int64Value
            case .standardInput, .stream: nil
            case .composed(let composed): composed.length.map { Int64($0) }
            }
        }
    }

    package let request: URLRequest
    package let body: Body
    /// The condition of `-z`.
    let timeCondition: TimeCondition?
    /// The length of the body as the command line says it.
    private let declaredLength: Int64?

    package init(_ command: CommandLineRequest) throws(UsageError) {
        let text = try URLArgument.complete(command.url, query: DataReader.query(of: command.query))
        var shownURL: String { SecretText.hiding(in: text, as: .address) }
        guard let url = URL(string: text), url.scheme != nil else {
            throw UsageError("'\(shownURL)' is not a URL", exitCode: .malformedURL)
        }
        if ["http", "https", "ws", "wss"].contains(url.scheme?.lowercased()), url.host?.isEmpty ?? true {
            throw UsageError("'\(shownURL)' has no host", exitCode: .malformedURL)
        }
        var request = URLRequest(url: url)
        request.httpMethod = command.method
        var fields = Self.fields(command)
        if case .form(let parts) = command.body {
            let form = try MultipartForm(parts)
            body = form.body.asBody
            if let index = fields.firstIndex(where: { $0.name.lowercased() == "content-type" }) {
                fields[index].value = try form.contentType(as: fields[index].value)
            } else {
                fields.append(("Content-Type", form.contentType))
            }
        } else {
            body = try Self.body(command.body, isUpload: command.isUpload || command.isPut)
        }
        if command.range != nil || command.timeCondition != nil,
            !["http", "https"].contains(url.scheme?.lowercased())
        {
            throw UsageError("-r and -z are about HTTP, not about \(url.scheme ?? "")", exitCode: .unavailable)
        }
        if command.body != .none || command.method != "GET",
            let scheme = url.scheme?.lowercased(), ["data", "file", "ftp"].contains(scheme)
        {
            throw UsageError("\(scheme) URLs have neither a method nor a body to send", exitCode: .unavailable)
        }
        if let text = command.timeCondition {
            let condition = try TimeCondition(text)
            timeCondition = condition
            fields.append(condition.field)
        } else {
            timeCondition = nil
        }
        declaredLength = Self.declaredLength(fields)
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        if case .data(let data) = body { request.httpBody = data }
        self.request = request
        try Self.settleFields(command, body)
        if command.retry.count > 0, command.retry.isGiven, !isRepeatable {
            throw UsageError("--retry needs a body that can be read again: send it from a regular file")
        }
    }

    /// Whether the server may answer that what the user has is unchanged: with `-z`, and with such a field of `-H`.
    var isConditional: Bool {
        timeCondition != nil
            || ["If-None-Match", "If-Modified-Since"].contains { request.value(forHTTPHeaderField: $0) != nil }
    }

    /// Refuses the edits of `-H` that URLSession would not follow.
    private static func settleFields(_ command: CommandLineRequest, _ body: Body) throws(UsageError) {
        let fields = fields(command)
        let isForm = if case .form = command.body { true } else { false }
        let sendsLength = body.length.map { $0 > 0 || ["POST", "PUT", "PATCH"].contains(command.method) } ?? false
        for edit in command.headers {
            switch edit {
            case .remove(let name):
                let lower = name.lowercased()
                guard !fields.contains(where: { $0.name.lowercased() == lower }) else { continue }
                let isAdded: Bool =
                    switch lower {
                    case "accept", "accept-encoding", "accept-language", "connection", "host", "user-agent": true
                    case "content-type": isForm || body.length != 0 && command.method == "POST"
                    case "content-length": sendsLength
                    case "transfer-encoding": body.length == nil
                    default: false
                    }
                guard isAdded else { continue }
                let mayDiffer = ReservedFields.treatment(of: name) == .sent
                throw UsageError(
                    mayDiffer
                        ? "-H: URLSession always sends \(name): give it another value"
                        : "-H: URLSession sends its own \(name)")
            // The length of the body may be said. One that is not known is checked while the body is read.
            case .set(let name, let value) where ReservedFields.treatment(of: name) == .sentForStreams:
                guard let length = body.length else {
                    guard declaredLength(fields) == nil else { continue }
                    throw UsageError("-H: \(name) needs the number of bytes of the body, from 1 on, and once")
                }
                guard !sendsLength || Int64(value) != length else { continue }
                throw UsageError("-H: URLSession sends its own \(name)")
            case .set: break
            }
        }
    }

    /// The value of a `Content-Length` of the command line. Nil if there is none, or if it is no number from 1 on.
    private static func declaredLength(_ fields: [(name: String, value: String)]) -> Int64? {
        guard let value = fields.last(where: { $0.name.lowercased() == "content-length" })?.value,
            value.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let length = Int64(value), length > 0
        else { return nil }
        return length
    }

    /// The request with its body. A body from a file or stream is read while it is sent.
    package var streamedRequest: URLRequest {
        var streamed = request
        switch body {
        case .none, .data: break
        case .file(let url):
            if let length = body.length { streamed.setValue("\(length)", forHTTPHeaderField: "Content-Length") }
            streamed.httpBodyStream = InputStream(url: url)
        case .standardInput:
            streamed.httpBodyStream = checked(
                BodyStream([.file(FileContents.standardInput, stripsLineBreaks: false, length: nil)]))
        case .stream(let url):
            streamed.httpBodyStream = checked(InputStream(url: url))
        case .composed(let composed):
            if let length = body.length { streamed.setValue("\(length)", forHTTPHeaderField: "Content-Length") }
            streamed.httpBodyStream = checked(composed.newStream())
        }
        return streamed
    }

    /// The stream, which fails if the body has another length than the command line says.
    private func checked(_ stream: InputStream?) -> InputStream? {
        guard body.length == nil, let declaredLength else { return stream }
        return stream.map { StreamOfLength($0, length: declaredLength) }
    }

    /// The same, but the body is read at a rate.
    func streamedRequest(limitedBy limiter: RateLimiter) -> URLRequest {
        var limited = streamedRequest
        if case .data(let data) = body {
            limited.httpBody = nil
            limited.setValue("\(data.count)", forHTTPHeaderField: "Content-Length")
            limited.httpBodyStream = InputStream(data: data)
        }
        if let stream = limited.httpBodyStream { limited.httpBodyStream = LimitedStream(stream, limiter) }
        return limited
    }

    /// A new stream of the body; nil if the body cannot be read again or is not a stream.
    package var newBodyStream: InputStream? {
        switch body {
        case .file(let url): return InputStream(url: url)
        case .stream(let url):
            var status = stat()
            guard stat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
            return checked(InputStream(url: url))
        case .composed(let composed): return composed.isRepeatable ? checked(composed.newStream()) : nil
        case .none, .data, .standardInput: return nil
        }
    }

    /// Whether the request can be made again.
    var isRepeatable: Bool {
        switch body {
        case .none, .data, .file: true
        case .standardInput: false
        case .stream, .composed: newBodyStream != nil
        }
    }

    /// The header fields: those that the switches imply, then the edits of `-H` in order.
    package static func fields(_ command: CommandLineRequest) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        if command.isJSON {
            fields = [("Content-Type", "application/json"), ("Accept", "application/json")]
        } else if command.isUpload {
            fields = [("Content-Type", "application/octet-stream")]
        } else if command.isPut {
            fields = []
        } else if case .form = command.body {
            // With the boundary, which is not known yet.
            fields = []
        } else if command.body != .none {
            fields = [("Content-Type", "application/x-www-form-urlencoded")]
        }
        if let referer = command.referer { fields.append(("Referer", referer)) }
        if let bearer = command.bearer { fields.append(("Authorization", "Bearer \(bearer)")) }
        if let range = command.range {
            // A part of a compressed body could not be decoded.
            fields += [("Range", "bytes=\(range)"), ("Accept-Encoding", "identity")]
        }
        // Without files the text is sent as it is written; with them the cookies are in the storage.
        let texts = command.cookieSources.filter { $0.contains("=") }
        if !texts.isEmpty, !command.usesCookieStorage { fields.append(("Cookie", texts.joined(separator: "; "))) }
        if let userAgent = command.userAgent { fields.append(("User-Agent", userAgent)) }
        // The first edit of a name replaces the implied field. Later edits of the same name append values.
        var edited: Set<String> = []
        for edit in command.headers {
            switch edit {
            case .remove(let name):
                fields.removeAll { $0.name.lowercased() == name.lowercased() }
            case .set(let name, _) where command.usesCookieStorage && name.lowercased() == "cookie": break
            case .set(let name, let value):
                if edited.insert(name.lowercased()).inserted {
                    fields.removeAll { $0.name.lowercased() == name.lowercased() }
                    fields.append((name, value))
                } else if let index = fields.firstIndex(where: { $0.name.lowercased() == name.lowercased() }) {
                    fields[index].value += (name.lowercased() == "cookie" ? "; " : ", ") + value
                } else {
                    fields.append((name, value))
                }
            }
        }
        return fields
    }

    /// An ephemeral session: each run starts without cookies, cache and credentials.
    package static func configuration(
        _ command: CommandLineRequest, cookies: HTTPCookieStorage? = nil
    ) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.destinations = command.network.destinations
        configuration.proxyVariables = command.network.proxyVariables(ProcessInfo.processInfo.environment)
        if let version = command.minimumTLS { configuration.tlsMinimumSupportedProtocolVersion = version.value }
        if let version = command.maximumTLS { configuration.tlsMaximumSupportedProtocolVersion = version.value }
        configuration.programVersion = Command.version
        configuration.requiredHTTPVersion =
            switch command.version {
            case .http1: .http11
            case .http2: .http2
            case .http3: .http3
            case nil: nil
            }
        if let timeout = command.timeout { configuration.timeoutIntervalForResource = timeout }
        if let idle = command.idleTimeout { configuration.timeoutIntervalForRequest = idle }
        if let cookies {
            configuration.httpCookieStorage = cookies
            configuration.httpCookieAcceptPolicy = .always
        }
        // Otherwise the cookie store, which is empty, would replace the user's Cookie field.
        if fields(command).contains(where: { $0.name.lowercased() == "cookie" }) {
            configuration.httpShouldSetCookies = false
        }
        return configuration
    }

    private static func body(_ body: CommandLineRequest.Body, isUpload: Bool) throws(UsageError) -> Body {
        switch body {
        case .none, .form: return .none
        case .pieces(let pieces): return try DataReader.body(of: pieces).asBody
        case .text(let text): return .data(Data(text.utf8))
        case .standardInput: return .standardInput
        case .file(FileContents.standardInput): return .standardInput
        case .file(let path):
            var status = stat()
            guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
                throw UsageError("cannot read '\(path)': \(String(cString: strerror(errno)))", exitCode: .readError)
            }
            guard status.st_mode & S_IFMT != S_IFDIR else {
                throw UsageError("cannot send '\(path)': it is a directory", exitCode: .readError)
            }
            if isUpload || status.st_mode & S_IFMT == S_IFREG && status.st_size > 0 {
                return .file(URL(fileURLWithPath: path))
            }
            // Files in `/proc` report size 0 but are not empty.
            if status.st_mode & S_IFMT == S_IFREG, try isEmpty(path) { return .data(Data()) }
            return .stream(URL(fileURLWithPath: path))
        }
    }

    private static func isEmpty(_ path: String) throws(UsageError) -> Bool {
        do {
            return try FileContents.read(path, atMost: 1).isEmpty
        } catch {
            throw UsageError("cannot read '\(path)': \(error.reason)", exitCode: .readError)
        }
    }
}
