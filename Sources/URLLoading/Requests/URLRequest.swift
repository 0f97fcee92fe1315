public import Foundation
package import LoadingSemantics

/// What to load: an address, a method, header fields, a body, and how the load may behave.
///
/// A value: a copy is independent, and a task keeps the request as it was when the task was made. The one thing that
/// copies share is a body stream, since a stream can be read only once.
public struct URLRequest: Sendable {
    public typealias CachePolicy = NSURLRequest.CachePolicy
    public typealias NetworkServiceType = NSURLRequest.NetworkServiceType
    public typealias Attribution = NSURLRequest.Attribution

    /// Read freely; changed only through ``owned()``.
    private(set) var storage: RequestStorage

    /// A GET of `url` with the standard cache policy and the session's timeout. A relative URL is resolved against its base.
    public init(url: URL) {
        storage = RequestStorage(url: url.absoluteURL)
    }

    /// A GET of `url` whose cache policy wins over the session's.
    public init(url: URL, cachePolicy: CachePolicy) {
        self.init(url: url)
        self.cachePolicy = cachePolicy
    }

    /// A GET of `url` whose timeout, in seconds, wins over the session's.
    public init(url: URL, timeoutInterval: TimeInterval) {
        self.init(url: url)
        self.timeoutInterval = timeoutInterval
    }

    /// A GET of `url` whose cache policy and timeout, in seconds, win over the session's.
    public init(url: URL, cachePolicy: CachePolicy, timeoutInterval: TimeInterval) {
        self.init(url: url)
        self.cachePolicy = cachePolicy
        self.timeoutInterval = timeoutInterval
    }

    init(storage: RequestStorage) { self.storage = storage }

    /// The storage to change: this request's own, after a copy if others share it.
    private mutating func owned() -> RequestStorage {
        if !isKnownUniquelyReferenced(&storage) { storage = RequestStorage(copying: storage) }
        return storage
    }

    private subscript(flag: RequestStorage.Flags) -> Bool {
        get { storage.flags.contains(flag) }
        set { if newValue { owned().flags.insert(flag) } else { owned().flags.remove(flag) } }
    }

    /// The address. A task made from a request without one fails with `unsupportedURL`. A relative URL that is set here keeps
    /// its base.
    public var url: URL? {
        get { storage.url }
        set { owned().url = newValue }
    }

    /// How stored responses may be used. Once set, it wins over the session's policy.
    public var cachePolicy: CachePolicy {
        get { storage.cachePolicy }
        set {
            owned().cachePolicy = newValue
            self[.setsCachePolicy] = true
        }
    }

    /// The longest gap without any activity, in seconds, before the load fails with `timedOut`; 60 unless set. Once
    /// set, it wins over the session's value, be it smaller or larger.
    public var timeoutInterval: TimeInterval {
        get { storage.timeoutInterval }
        set {
            owned().timeoutInterval = newValue
            self[.setsTimeoutInterval] = true
        }
    }

    /// The document this load belongs to; decides what is a third-party cookie. Nil makes everything first-party.
    public var mainDocumentURL: URL? {
        get { storage.rarities.mainDocumentURL }
        set { owned().rarities.mainDocumentURL = newValue }
    }

    /// What kind of traffic this is: a hint; `.default` for what the session says. On Linux the packets of its connection are
    /// marked with the class that RFC 4594 has for it, and requests of other kinds use other connections.
    public var networkServiceType: NetworkServiceType {
        get { storage.rarities.networkServiceType }
        set { owned().rarities.networkServiceType = newValue }
    }

    /// Whether cellular interfaces may be used; true unless set. No effect on Linux: the kernel does not tell which those
    /// are.
    public var allowsCellularAccess: Bool {
        get { self[.allowsCellularAccess] }
        set { self[.allowsCellularAccess] = newValue }
    }

    /// Whether metered interfaces may be used; true unless set. No effect on Linux: the kernel does not tell which those
    /// are.
    public var allowsExpensiveNetworkAccess: Bool {
        get { self[.allowsExpensiveNetworkAccess] }
        set { self[.allowsExpensiveNetworkAccess] = newValue }
    }

    /// Whether interfaces in a data-saving mode may be used; true unless set. No effect on Linux: there is no such mode.
    public var allowsConstrainedNetworkAccess: Bool {
        get { self[.allowsConstrainedNetworkAccess] }
        set { self[.allowsConstrainedNetworkAccess] = newValue }
    }

    /// Whether interfaces of very low capacity, such as satellite links, may be used; false unless set. No effect on
    /// Linux: the kernel does not tell which those are.
    public var allowsUltraConstrainedNetworkAccess: Bool {
        get { self[.allowsUltraConstrainedNetworkAccess] }
        set { self[.allowsUltraConstrainedNetworkAccess] = newValue }
    }

    /// Whether HTTP/3 may be tried although the server has not announced it yet; false unless set. The
    /// request goes over TCP when the server does not answer in a moment, and always where the package was built without the
    /// trait `HTTP3`.
    public var assumesHTTP3Capable: Bool {
        get { self[.assumesHTTP3Capable] }
        set { self[.assumesHTTP3Capable] = newValue }
    }

    /// Whether the program or the user named the address. No effect on Linux: nobody is told.
    public var attribution: Attribution {
        get { storage.rarities.attribution }
        set { owned().rarities.attribution = newValue }
    }

    /// Whether name resolution must be validated with DNSSEC; false unless set. Nobody here can prove an answer, so a host
    /// that has to be looked up cannot be found then.
    public var requiresDNSSECValidation: Bool {
        get { self[.requiresDNSSECValidation] }
        set { self[.requiresDNSSECValidation] = newValue }
    }

    /// Whether answers of name resolution may be kept beyond the life of the process; false unless set. No effect on Linux:
    /// they are kept for half a minute, in memory.
    public var allowsPersistentDNS: Bool {
        get { self[.allowsPersistentDNS] }
        set { self[.allowsPersistentDNS] = newValue }
    }

    /// The name of a cookie jar of its own for this request, or nil for the common one.
    public var cookiePartitionIdentifier: String? {
        get { storage.rarities.cookiePartitionIdentifier }
        set { owned().rarities.cookiePartitionIdentifier = newValue }
    }

    /// The method, "GET" unless set; nil sets it back to that. GET, HEAD, POST, PUT, DELETE and CONNECT are upper-cased, others
    /// keep their spelling: methods are case-sensitive.
    public var httpMethod: String? {
        get { storage.method }
        set { owned().setMethod(newValue) }
    }

    /// The header fields set on this request, or nil if none were ever set. Setting replaces all of them.
    ///
    /// `Authorization`, `Connection`, `Content-Length`, `Host`, `Proxy-Authenticate`, `Proxy-Authorization` and
    /// `WWW-Authenticate` belong to the loader, which may replace them.
    public var allHTTPHeaderFields: [String: String]? {
        get {
            let fields = storage.fields
            if fields.isEmpty { return self[.setsFields] ? [:] : nil }
            return Dictionary(fields.lazy.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        }
        set {
            owned().fields = []
            self[.setsFields] = newValue != nil
            // A dictionary has no order of its own; sorting makes the same request give the same bytes.
            for (name, value) in (newValue ?? [:]).sorted(by: { $0.key < $1.key }) { owned().setField(name, value) }
        }
    }

    /// The body as bytes. Setting it drops a body stream.
    public var httpBody: Data? {
        get { if case .data(let data) = storage.body { data } else { nil } }
        set { owned().body = newValue.map { .data($0) } ?? .none }
    }

    /// The body as a stream, opened and read by the loader. Setting it drops a body given as bytes. In a request that a
    /// ``URLProtocol`` sees, a body that was given as bytes or as a file gives a new stream each time.
    public var httpBodyStream: InputStream? {
        get {
            switch storage.body {
            case .none, .data: nil
            case .stream(let stream): stream
            case .streamOfData(let data): InputStream(data: data)
            case .streamOfFile(let url): InputStream(url: url)
            }
        }
        set { owned().body = newValue.map { .stream($0) } ?? .none }
    }

    /// Whether cookies are attached to this request and taken from its response; true unless set.
    public var httpShouldHandleCookies: Bool {
        get { self[.shouldHandleCookies] }
        set { self[.shouldHandleCookies] = newValue }
    }

    /// Whether HTTP/1.1 pipelining was asked for; false unless set. No effect on Linux: the loader never pipelines.
    public var httpShouldUsePipelining: Bool {
        get { self[.shouldUsePipelining] }
        set { self[.shouldUsePipelining] = newValue }
    }

    /// The value of that header field, its name in any case, or nil.
    public func value(forHTTPHeaderField field: String) -> String? {
        storage.index(ofField: field).map { storage.fields[$0].value }
    }

    /// Sets, replaces or, with nil, removes a header field. The first spelling of the name is kept.
    ///
    /// A name that is no token, or a value with a NUL or a line break in it, is refused: nothing changes.
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {
        owned().setField(field, value)
    }

    /// Appends to a header field after a comma, or sets it. Refuses what ``setValue(_:forHTTPHeaderField:)`` refuses.
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
        owned().addField(field, value)
    }
}

extension URLRequest {
    /// The timeout in seconds if this request ever set one; else the session's applies (C-7).
    package var explicitTimeoutInterval: TimeInterval? {
        self[.setsTimeoutInterval] ? storage.timeoutInterval : nil
    }

    /// The cache policy if this request ever set one; else the session's applies (C-5).
    package var explicitCachePolicy: NSURLRequest.CachePolicy? {
        self[.setsCachePolicy] ? storage.cachePolicy : nil
    }

    /// The header fields in the order in which they were set. Free of charge, unlike `allHTTPHeaderFields`.
    package var fields: [(name: String, value: String)] { storage.fields }

    /// The body in whichever form it was given.
    var body: RequestStorage.Body {
        get { storage.body }
        set { owned().body = newValue }
    }

    /// The method without the optional.
    package var method: String { storage.method }

    /// Appends the header fields to a message, ready to be sent: names are tokens, values are one line.
    package func appendFields(to message: inout HTTPFields) {
        for (name, value) in storage.fields { message.append(name, unfoldedFieldValue(value)) }
    }

    /// What custom protocols attached to this request.
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
    /// The address, without a password.
    public var description: String { Self.shown(url)?.description ?? "url: nil" }

    /// An address without the password that may stand in it: this is written to logs (RFC 3986 §3.2.1).
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
                // A body may hold a password, as a form does.
                "httpBody": httpBody.map { "\($0.count) bytes" } as Any,
                "httpBodyStream": httpBodyStream as Any,
                "httpShouldHandleCookies": httpShouldHandleCookies,
                "httpShouldUsePipelining": httpShouldUsePipelining,
            ],
            displayStyle: .struct)
    }
}
