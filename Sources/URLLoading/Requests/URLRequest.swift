public import Foundation
package import LoadingSemantics

/// A request: URL, method, header fields, body, and options of the load.
///
/// A value type: a task keeps the request as it was when the task was created. Copies share only a body stream, because
/// a stream can be read only once.
public struct URLRequest: Sendable {
    /// How a request uses the cache.
    public typealias CachePolicy = NSURLRequest.CachePolicy
    /// The kind of traffic.
    public typealias NetworkServiceType = NSURLRequest.NetworkServiceType
    /// Who has caused a request, the program or its user.
    public typealias Attribution = NSURLRequest.Attribution

    /// Shared with copies. Changed only through ``owned()``.
    private(set) var storage: RequestStorage

    /// A GET request with the session's cache policy and timeout. A relative URL is resolved against its base.
    public init(url: URL) {
        storage = RequestStorage(url: url.absoluteURL)
    }

    /// A GET request with a cache policy that overrides the session's.
    public init(url: URL, cachePolicy: CachePolicy) {
        self.init(url: url)
        self.cachePolicy = cachePolicy
    }

    /// A GET request with a timeout in seconds that overrides the session's.
    public init(url: URL, timeoutInterval: TimeInterval) {
        self.init(url: url)
        self.timeoutInterval = timeoutInterval
    }

    /// A GET request with a cache policy and a timeout in seconds that override the session's.
    public init(url: URL, cachePolicy: CachePolicy, timeoutInterval: TimeInterval) {
        self.init(url: url)
        self.cachePolicy = cachePolicy
        self.timeoutInterval = timeoutInterval
    }

    init(storage: RequestStorage) { self.storage = storage }

    /// The storage to change. Copied first if other requests share it.
    private mutating func owned() -> RequestStorage {
        if !isKnownUniquelyReferenced(&storage) { storage = RequestStorage(copying: storage) }
        return storage
    }

    private subscript(flag: RequestStorage.Flags) -> Bool {
        get { storage.flags.contains(flag) }
        set { if newValue { owned().flags.insert(flag) } else { owned().flags.remove(flag) } }
    }

    /// The URL. A task with a request without URL fails with `unsupportedURL`. A relative URL keeps its base.
    public var url: URL? {
        get { storage.url }
        set { owned().url = newValue }
    }

    /// How cached responses are used. If set, overrides the session's policy.
    public var cachePolicy: CachePolicy {
        get { storage.cachePolicy }
        set {
            owned().cachePolicy = newValue
            self[.setsCachePolicy] = true
        }
    }

    /// The idle timeout in seconds: after that time without activity the load fails with `timedOut`. The default is 60;
    /// zero or less is none. If set, overrides the session's value.
    public var timeoutInterval: TimeInterval {
        get { storage.timeoutInterval }
        set {
            owned().timeoutInterval = newValue
            self[.setsTimeoutInterval] = true
        }
    }

    /// The URL of the main document, which determines third-party cookies. If nil, all cookies are first-party.
    public var mainDocumentURL: URL? {
        get { storage.uncommonFields.mainDocumentURL }
        set { owned().uncommonFields.mainDocumentURL = newValue }
    }

    /// The kind of traffic, a hint. `.default` means the session's value. On Linux it sets the traffic class (RFC 4594)
    /// of the connection's packets, and requests with different service types use different connections.
    public var networkServiceType: NetworkServiceType {
        get { storage.uncommonFields.networkServiceType }
        set { owned().uncommonFields.networkServiceType = newValue }
    }

    /// Whether cellular interfaces may be used. The default is true. No effect on Linux: the kernel does not identify
    /// them.
    public var allowsCellularAccess: Bool {
        get { self[.allowsCellularAccess] }
        set { self[.allowsCellularAccess] = newValue }
    }

    /// Whether expensive (metered) interfaces may be used. The default is true. No effect on Linux: the kernel does not
    /// identify them.
    public var allowsExpensiveNetworkAccess: Bool {
        get { self[.allowsExpensiveNetworkAccess] }
        set { self[.allowsExpensiveNetworkAccess] = newValue }
    }

    /// Whether interfaces in low data mode may be used. The default is true. No effect on Linux: there is no such mode.
    public var allowsConstrainedNetworkAccess: Bool {
        get { self[.allowsConstrainedNetworkAccess] }
        set { self[.allowsConstrainedNetworkAccess] = newValue }
    }

    /// Whether ultra-constrained interfaces, such as satellite links, may be used. The default is false. No effect on
    /// Linux: the kernel does not identify them.
    public var allowsUltraConstrainedNetworkAccess: Bool {
        get { self[.allowsUltraConstrainedNetworkAccess] }
        set { self[.allowsUltraConstrainedNetworkAccess] = newValue }
    }

    /// Whether to try HTTP/3 although the server has not advertised it. The default is false. The request uses TCP if
    /// the server does not answer quickly, and always if the package is built without the trait `HTTP3`.
    public var assumesHTTP3Capable: Bool {
        get { self[.assumesHTTP3Capable] }
        set { self[.assumesHTTP3Capable] = newValue }
    }

    /// Whether the program or the user specified the URL. No effect on Linux.
    public var attribution: Attribution {
        get { storage.uncommonFields.attribution }
        set { owned().uncommonFields.attribution = newValue }
    }

    /// Whether name resolution must be validated with DNSSEC. The default is false. The library cannot validate DNSSEC,
    /// so with true every host name that must be resolved fails.
    public var requiresDNSSECValidation: Bool {
        get { self[.requiresDNSSECValidation] }
        set { self[.requiresDNSSECValidation] = newValue }
    }

    /// Whether DNS results may be cached persistently. The default is false. No effect on Linux: they are cached for 30
    /// seconds, in memory.
    public var allowsPersistentDNS: Bool {
        get { self[.allowsPersistentDNS] }
        set { self[.allowsPersistentDNS] = newValue }
    }

    /// The name of a separate cookie jar for this request, or nil for the common one.
    public var cookiePartitionIdentifier: String? {
        get { storage.uncommonFields.cookiePartitionIdentifier }
        set { owned().uncommonFields.cookiePartitionIdentifier = newValue }
    }

    /// The method. The default is "GET", which nil restores. GET, HEAD, POST, PUT, DELETE and CONNECT are converted to
    /// upper case; other methods are case-sensitive and unchanged.
    public var httpMethod: String? {
        get { storage.method }
        set {
            owned().setMethod(newValue)
            self[.setsFields] = true
        }
    }

    /// The header fields of this request, or nil if neither fields nor a method or a body were ever set. Setting
    /// replaces all fields.
    ///
    /// `Authorization`, `Connection`, `Content-Length`, `Host`, `Proxy-Authenticate`, `Proxy-Authorization` and
    /// `WWW-Authenticate` are reserved for the loader, which may replace them.
    public var allHTTPHeaderFields: [String: String]? {
        get {
            let fields = storage.fields
            if fields.isEmpty { return self[.setsFields] ? [:] : nil }
            return Dictionary(fields.lazy.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        }
        set {
            owned().removeAllFields()
            self[.setsFields] = newValue != nil
            // Dictionaries are unordered. Sorting makes equal requests produce equal bytes.
            for (name, value) in (newValue ?? [:]).sorted(by: { $0.key < $1.key }) { owned().setField(name, value) }
        }
    }

    /// The body as data. Setting it removes a body stream.
    public var httpBody: Data? {
        get { if case .data(let data) = storage.body { data } else { nil } }
        set {
            owned().body = newValue.map { .data($0) } ?? .none
            if newValue != nil { self[.setsFields] = true }
        }
    }

    /// The body as a stream, which the loader opens and reads. Setting it removes `httpBody`. In the request of a
    /// ``URLProtocol``, a body from data or a file returns a new stream for each access.
    public var httpBodyStream: InputStream? {
        get {
            switch storage.body {
            case .none, .data: nil
            case .stream(let stream): stream
            case .streamOfData(let data): InputStream(data: data)
            case .streamOfFile(let url): InputStream(url: url)
            }
        }
        set {
            owned().body = newValue.map { .stream($0) } ?? .none
            if newValue != nil { self[.setsFields] = true }
        }
    }

    /// Whether cookies are sent with this request and stored from its response. The default is true.
    public var httpShouldHandleCookies: Bool {
        get { self[.shouldHandleCookies] }
        set { self[.shouldHandleCookies] = newValue }
    }

    /// Whether to use HTTP/1.1 pipelining. The default is false. No effect on Linux: the loader never pipelines.
    public var httpShouldUsePipelining: Bool {
        get { self[.shouldUsePipelining] }
        set { self[.shouldUsePipelining] = newValue }
    }

    /// The value of a header field, or nil. The name is case-insensitive.
    public func value(forHTTPHeaderField field: String) -> String? {
        storage.index(ofField: field).map { storage.fields[$0].value }
    }

    /// Sets or replaces a header field, or removes it if `value` is nil. The first spelling of the name is kept.
    ///
    /// Ignored if the name is not a token, or the value contains NUL or a line break.
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {
        owned().setField(field, value)
    }

    /// Appends to a header field after a comma, or sets it. Ignored in the same cases as
    /// ``setValue(_:forHTTPHeaderField:)``.
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
        owned().addField(field, value)
    }
}

extension URLRequest {
    /// The idle timeout in seconds: the session's, unless the request has its own (C-7).
    package func idleTimeout(in session: SessionValues) -> TimeInterval {
        (self[.setsTimeoutInterval] ? storage.timeoutInterval : session.timeoutIntervalForRequest).timeout
    }

    /// The cache policy if it was set; otherwise the session's applies (C-5).
    package var explicitCachePolicy: NSURLRequest.CachePolicy? {
        self[.setsCachePolicy] ? storage.cachePolicy : nil
    }

    /// The header fields in the order of their assignment. Needs no conversion, unlike `allHTTPHeaderFields`.
    package var fields: [(name: String, value: String)] { storage.fields }

    /// The body in its original form.
    var body: RequestStorage.Body {
        get { storage.body }
        set { owned().body = newValue }
    }

    /// `httpMethod`, not optional.
    package var method: String { storage.method }

    /// Appends the header fields to a message. Names are tokens, and values are unfolded.
    package func appendFields(to message: inout HTTPFields) {
        for (name, value) in storage.fields { message.append(name, unfoldedFieldValue(value)) }
    }

    /// The values attached with `URLProtocol.setProperty`.
    package var protocolProperties: [String: Any] {
        get { storage.protocolProperties }
        set { owned().protocolProperties = newValue }
    }
}

extension URLRequest: Hashable {
    public static func == (left: URLRequest, right: URLRequest) -> Bool {
        left.storage === right.storage || left.storage == right.storage
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(storage.url)
        hasher.combine(storage.method)
        hasher.combine(mainDocumentURL)
        if case .stream(let stream) = storage.body { hasher.combine(ObjectIdentifier(stream)) }
    }
}

extension URLRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The URL without its password.
    public var description: String { Self.shown(url)?.description ?? "url: nil" }

    /// A URL without its password, because descriptions are written to logs (RFC 3986 §3.2.1).
    private static func shown(_ url: URL?) -> URL? {
        guard let whole = url?.absoluteString else { return nil }
        let text = URLReference.withoutPassword(whole)
        return text == whole ? url : URL(string: text)
    }

    public var debugDescription: String { description }

    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "url": Self.shown(url) as Any,
                "cachePolicy": cachePolicy,
                "timeoutInterval": timeoutInterval,
                "mainDocumentURL": Self.shown(mainDocumentURL) as Any,
                "networkServiceType": networkServiceType,
                "allowsCellularAccess": allowsCellularAccess,
                "httpMethod": httpMethod as Any,
                "allHTTPHeaderFields": SecretFields.hidden(in: allHTTPHeaderFields) as Any,
                // A body, such as a form, may contain a password.
                "httpBody": httpBody.map { "\($0.count) bytes" } as Any,
                "httpBodyStream": httpBodyStream as Any,
                "httpShouldHandleCookies": httpShouldHandleCookies,
                "httpShouldUsePipelining": httpShouldUsePipelining,
            ],
            displayStyle: .struct)
    }
}

extension URLRequest {
    /// A request without a URL, with which a task fails.
    static var withoutURL: URLRequest {
        var request = URLRequest(url: URL(fileURLWithPath: "/"))
        request.url = nil
        return request
    }
}
