public import Foundation

/// A request as an immutable object. ``NSMutableURLRequest`` is mutable.
///
/// New code should use the value type ``URLRequest``. Both convert to each other with `as`.
open class NSURLRequest: NSObject, NSSecureCoding, NSCopying, NSMutableCopying {
    /// The request as a value. Changed only by the mutable subclass.
    final var request: URLRequest

    /// A GET request. A relative URL is resolved against its base.
    public init(url: URL) {
        request = URLRequest(url: url)
    }

    /// A GET request with a cache policy and a timeout in seconds. A relative URL is resolved against its base.
    public init(url: URL, cachePolicy: CachePolicy, timeoutInterval: TimeInterval) {
        request = URLRequest(url: url, cachePolicy: cachePolicy, timeoutInterval: timeoutInterval)
    }

    /// A request without a URL.
    public override init() {
        request = URLRequest(storage: RequestStorage(url: nil))
    }

    init(_ request: URLRequest) {
        self.request = request
    }

    /// Decodes an archive. Body streams are not archived.
    public required init?(coder: NSCoder) {
        guard let request = URLRequest(coder: coder) else { return nil }
        self.request = request
    }

    /// Always true.
    open class var supportsSecureCoding: Bool { true }

    /// Archives use Apple's name of the class.
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

    /// The URL.
    open var url: URL? { request.url }
    /// How cached responses are used.
    open var cachePolicy: CachePolicy { request.cachePolicy }
    /// The idle timeout in seconds.
    open var timeoutInterval: TimeInterval { request.timeoutInterval }
    /// The URL of the main document.
    open var mainDocumentURL: URL? { request.mainDocumentURL }
    /// The kind of traffic.
    open var networkServiceType: NetworkServiceType { request.networkServiceType }
    /// Whether cellular interfaces may be used.
    open var allowsCellularAccess: Bool { request.allowsCellularAccess }
    /// Whether expensive (metered) interfaces may be used.
    open var allowsExpensiveNetworkAccess: Bool { request.allowsExpensiveNetworkAccess }
    /// Whether interfaces in low data mode may be used.
    open var allowsConstrainedNetworkAccess: Bool { request.allowsConstrainedNetworkAccess }
    /// Whether ultra-constrained interfaces may be used.
    open var allowsUltraConstrainedNetworkAccess: Bool { request.allowsUltraConstrainedNetworkAccess }
    /// Whether to try HTTP/3 before the server has advertised it.
    open var assumesHTTP3Capable: Bool { request.assumesHTTP3Capable }
    /// Whether the program or the user specified the URL.
    open var attribution: Attribution { request.attribution }
    /// Whether name resolution must be validated with DNSSEC.
    open var requiresDNSSECValidation: Bool { request.requiresDNSSECValidation }
    /// Whether DNS results may be cached persistently.
    open var allowsPersistentDNS: Bool { request.allowsPersistentDNS }
    /// The name of a separate cookie jar, or nil.
    open var cookiePartitionIdentifier: String? { request.cookiePartitionIdentifier }
    /// The method.
    open var httpMethod: String? { request.httpMethod }
    /// The header fields, or nil if none were ever set.
    open var allHTTPHeaderFields: [String: String]? { request.allHTTPHeaderFields }
    /// The body as data.
    open var httpBody: Data? { request.httpBody }
    /// The body as a stream.
    open var httpBodyStream: InputStream? { request.httpBodyStream }
    /// Whether cookies are sent and stored.
    open var httpShouldHandleCookies: Bool { request.httpShouldHandleCookies }
    /// Whether to use HTTP/1.1 pipelining.
    open var httpShouldUsePipelining: Bool { request.httpShouldUsePipelining }

    /// The value of a header field, or nil. The name is case-insensitive.
    open func value(forHTTPHeaderField field: String) -> String? { request.value(forHTTPHeaderField: field) }
}
