public import Foundation

/// A request as an object: what to load and how. Immutable; ``NSMutableURLRequest`` is the one to change.
///
/// New code uses the value ``URLRequest``; both convert into each other with `as`.
open class NSURLRequest: NSObject, NSSecureCoding, NSCopying, NSMutableCopying {
    /// What this object stands for. Changed only by the mutable subclass.
    final var request: URLRequest

    /// A GET of `url`. A relative URL is resolved against its base.
    public init(url: URL) {
        request = URLRequest(url: url)
    }

    /// A GET of `url` with a cache policy and a timeout in seconds. A relative URL is resolved against its base.
    public init(url: URL, cachePolicy: CachePolicy, timeoutInterval: TimeInterval) {
        request = URLRequest(url: url, cachePolicy: cachePolicy, timeoutInterval: timeoutInterval)
    }

    /// A request without an address.
    public override init() {
        request = URLRequest(storage: RequestStorage(url: nil))
    }

    init(_ request: URLRequest) {
        self.request = request
    }

    /// Reads what `encode(with:)` wrote. A body stream does not survive coding.
    public required init?(coder: NSCoder) {
        guard let request = URLRequest(coder: coder) else { return nil }
        self.request = request
    }

    open class var supportsSecureCoding: Bool { true }

    /// In archives the class has Apple's name.
    open override var classForKeyedArchiver: AnyClass? { archivedClass }

    open func encode(with coder: NSCoder) {
        request.encode(with: coder)
    }

    open func copy(with zone: NSZone? = nil) -> Any { self }

    open func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableURLRequest(request) }

    open override func isEqual(_ object: Any?) -> Bool {
        (object as? NSURLRequest).map { $0.request == request } ?? false
    }

    open override var hash: Int { request.hashValue }

    open override var description: String {
        super.description + " { URL: \(url == nil ? "(null)" : request.description) }"
    }

    /// The address.
    open var url: URL? { request.url }
    /// How stored responses may be used.
    open var cachePolicy: CachePolicy { request.cachePolicy }
    /// The longest gap without activity, in seconds.
    open var timeoutInterval: TimeInterval { request.timeoutInterval }
    /// The document this load belongs to.
    open var mainDocumentURL: URL? { request.mainDocumentURL }
    /// What kind of traffic this is.
    open var networkServiceType: NetworkServiceType { request.networkServiceType }
    /// Whether cellular interfaces may be used.
    open var allowsCellularAccess: Bool { request.allowsCellularAccess }
    /// Whether metered interfaces may be used.
    open var allowsExpensiveNetworkAccess: Bool { request.allowsExpensiveNetworkAccess }
    /// Whether interfaces in a data-saving mode may be used.
    open var allowsConstrainedNetworkAccess: Bool { request.allowsConstrainedNetworkAccess }
    /// Whether interfaces of very low capacity may be used.
    open var allowsUltraConstrainedNetworkAccess: Bool { request.allowsUltraConstrainedNetworkAccess }
    /// Whether HTTP/3 may be tried before the server announced it.
    open var assumesHTTP3Capable: Bool { request.assumesHTTP3Capable }
    /// Whether the program or the user named the address.
    open var attribution: Attribution { request.attribution }
    /// Whether name resolution must be validated with DNSSEC.
    open var requiresDNSSECValidation: Bool { request.requiresDNSSECValidation }
    /// Whether answers of name resolution may outlive the process.
    open var allowsPersistentDNS: Bool { request.allowsPersistentDNS }
    /// The name of a cookie jar of its own, or nil.
    open var cookiePartitionIdentifier: String? { request.cookiePartitionIdentifier }
    /// The method.
    open var httpMethod: String? { request.httpMethod }
    /// The header fields, or nil if none were ever set.
    open var allHTTPHeaderFields: [String: String]? { request.allHTTPHeaderFields }
    /// The body as bytes.
    open var httpBody: Data? { request.httpBody }
    /// The body as a stream.
    open var httpBodyStream: InputStream? { request.httpBodyStream }
    /// Whether cookies are attached and taken.
    open var httpShouldHandleCookies: Bool { request.httpShouldHandleCookies }
    /// Whether pipelining was asked for.
    open var httpShouldUsePipelining: Bool { request.httpShouldUsePipelining }

    /// The value of that header field, its name in any case, or nil.
    open func value(forHTTPHeaderField field: String) -> String? { request.value(forHTTPHeaderField: field) }
}
