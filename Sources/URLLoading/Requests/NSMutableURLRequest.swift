public import Foundation

/// A mutable request. A task keeps the request as it was when the task was created. Not thread-safe.
open class NSMutableURLRequest: NSURLRequest {
    open override func copy(with zone: NSZone? = nil) -> Any { NSURLRequest(request) }

    open override var url: URL? {
        get { request.url }
        set { request.url = newValue }
    }

    open override var cachePolicy: CachePolicy {
        get { request.cachePolicy }
        set { request.cachePolicy = newValue }
    }

    open override var timeoutInterval: TimeInterval {
        get { request.timeoutInterval }
        set { request.timeoutInterval = newValue }
    }

    open override var mainDocumentURL: URL? {
        get { request.mainDocumentURL }
        set { request.mainDocumentURL = newValue }
    }

    open override var networkServiceType: NetworkServiceType {
        get { request.networkServiceType }
        set { request.networkServiceType = newValue }
    }

    open override var allowsCellularAccess: Bool {
        get { request.allowsCellularAccess }
        set { request.allowsCellularAccess = newValue }
    }

    open override var allowsExpensiveNetworkAccess: Bool {
        get { request.allowsExpensiveNetworkAccess }
        set { request.allowsExpensiveNetworkAccess = newValue }
    }

    open override var allowsConstrainedNetworkAccess: Bool {
        get { request.allowsConstrainedNetworkAccess }
        set { request.allowsConstrainedNetworkAccess = newValue }
    }

    open override var allowsUltraConstrainedNetworkAccess: Bool {
        get { request.allowsUltraConstrainedNetworkAccess }
        set { request.allowsUltraConstrainedNetworkAccess = newValue }
    }

    open override var assumesHTTP3Capable: Bool {
        get { request.assumesHTTP3Capable }
        set { request.assumesHTTP3Capable = newValue }
    }

    open override var attribution: Attribution {
        get { request.attribution }
        set { request.attribution = newValue }
    }

    open override var requiresDNSSECValidation: Bool {
        get { request.requiresDNSSECValidation }
        set { request.requiresDNSSECValidation = newValue }
    }

    open override var allowsPersistentDNS: Bool {
        get { request.allowsPersistentDNS }
        set { request.allowsPersistentDNS = newValue }
    }

    open override var cookiePartitionIdentifier: String? {
        get { request.cookiePartitionIdentifier }
        set { request.cookiePartitionIdentifier = newValue }
    }

    open override var httpMethod: String {
        get { request.method }
        set { request.httpMethod = newValue }
    }

    open override var allHTTPHeaderFields: [String: String]? {
        get { request.allHTTPHeaderFields }
        set { request.allHTTPHeaderFields = newValue }
    }

    open override var httpBody: Data? {
        get { request.httpBody }
        set { request.httpBody = newValue }
    }

    open override var httpBodyStream: InputStream? {
        get { request.httpBodyStream }
        set { request.httpBodyStream = newValue }
    }

    open override var httpShouldHandleCookies: Bool {
        get { request.httpShouldHandleCookies }
        set { request.httpShouldHandleCookies = newValue }
    }

    open override var httpShouldUsePipelining: Bool {
        get { request.httpShouldUsePipelining }
        set { request.httpShouldUsePipelining = newValue }
    }

    /// Sets or replaces a header field, or removes it if `value` is nil. Ignores invalid fields as ``URLRequest`` does.
    open func setValue(_ value: String?, forHTTPHeaderField field: String) {
        request.setValue(value, forHTTPHeaderField: field)
    }

    /// Appends to a header field after a comma, or sets it.
    open func addValue(_ value: String, forHTTPHeaderField field: String) {
        request.addValue(value, forHTTPHeaderField: field)
    }
}
