internal import Foundation
internal import LoadingConnections
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

extension LoadRequest {
    /// The engine's request for a `URLRequest`: its values, with those of the session as defaults (C-4 to C-8, C-23),
    /// without the fields `dropped`. Throws the error with which the task fails.
    ///
    /// - Parameters:
    ///   - body: Replaces the body of the request (T-53).
    ///   - isWebSocket: Whether the request opens a WebSocket. It is then a GET, and may be for a `ws:` or `wss:` URL.
    ///   - mayBeFTP: Whether an `ftp:` URL may be loaded through an HTTP proxy.
    init(
        _ request: URLRequest, of session: SessionCore, without dropped: [String], body given: LoadBody?,
        priority: Float, mayBeFTP: Bool = false, isWebSocket: Bool = false
    ) throws(LoadError) {
        guard let text = request.url?.absoluteString else { throw .unsupportedURL }
        let url: HTTPURL
        if mayBeFTP, let forwarded = session.environment.forwarded(ftp: text) {
            url = forwarded
        } else {
            do { url = try HTTPURL(text) } catch { throw error.loadError }
            guard isWebSocket || url.scheme.isHTTP else { throw .unsupportedURL }
        }
        var fields = HTTPFields()
        request.appendFields(to: &fields)
        for (name, value) in session.additionalFields
        where !fields.contains(name) && !dropped.contains(fieldNamed: name) {
            fields.append(name, value)
        }
        let body = given ?? request.loadBody(on: session)
        let method = isWebSocket ? "GET" : request.method
        // ERR-9
        if method == "GET", !body.isNone { throw .resourceExceedsMaximum }
        if let type = RequestDefaults.contentType(method: method, hasNonEmptyBody: !body.isNone),
            !fields.contains("Content-Type")
        {
            fields.append("Content-Type", type)
        }
        self.init(
            url: url, urlText: text, method: method, fields: fields, body: body,
            idleTimeout: request.idleTimeout(in: session.configuration),
            totalTimeout: session.configuration.totalTimeout,
            waitsForConnectivity: session.configuration.waitsForConnectivity,
            priority: priority)
        service = session.configuration.networkService(of: request)
        assumesHTTP3 = request.assumesHTTP3Capable
        allowsEarlyData = session.configuration.enablesEarlyData && !session.configuration.usesClassicLoadingMode
        partition = request.cookiePartitionIdentifier
        cachePolicy = CachePolicy.effective(
            request: request.explicitCachePolicy.flatMap { CachePolicy($0) },
            session: CachePolicy(session.configuration.requestCachePolicy) ?? .useProtocolCachePolicy)
    }
}

extension URLRequest {
    /// The redirected request for the delegate: the previous request with the changes of the redirect.
    init?(_ proposed: LoadRequest, after previous: URLRequest) {
        guard let url = URL(string: proposed.urlText) else { return nil }
        self = previous
        self.url = url
        if proposed.method != previous.httpMethod { httpMethod = proposed.method }
        if case .none = proposed.body { httpBody = nil }
        for (name, _) in previous.fields where !proposed.fields.contains(name) {
            setValue(nil, forHTTPHeaderField: name)
        }
    }

    /// The length of the body in bytes: 0 without a body, −1 for a stream without `Content-Length` (T-15).
    var knownBodyLength: Int64 {
        switch body {
        case .none: 0
        case .data(let data), .streamOfData(let data): Int64(data.count)
        case .streamOfFile(let url): UploadContent.file(url).knownLength(of: self)
        case .stream: announcedBodyLength ?? NSURLSessionTransferSizeUnknown
        }
    }

    /// The length of a stream according to the `Content-Length` field of the request.
    var announcedBodyLength: Int64? {
        value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }

    fileprivate func loadBody(on session: SessionCore) -> LoadBody {
        switch body {
        case .none: .none
        case .data(let data), .streamOfData(let data): data.isEmpty ? .none : .bytes(data)
        case .stream(let stream):
            .stream(InputStreamSource(stream, on: session.loop), length: announcedBodyLength)
        // A file's length is known, and it can be sent again.
        case .streamOfFile(let url): UploadContent.file(url).body(of: self, on: session.loop)
        }
    }
}
