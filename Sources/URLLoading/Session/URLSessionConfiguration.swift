public import Foundation
internal import LoadingEvents

/// How the tasks of a session behave. A session copies its configuration when it is made; changes afterwards have no
/// effect on it.
///
/// Every property may be read and set from any thread.
open class URLSessionConfiguration: NSObject, NSCopying, @unchecked Sendable {
    // Sendable: all that varies is behind the lock.
    private let lock = Lock()
    /// Guarded by `lock`.
    private var values: SessionValues

    /// A new configuration with the shared stores.
    @available(*, deprecated, message: "Use .default, .ephemeral or .background(withIdentifier:)")
    public override init() {
        values = SessionValues.standard()
    }

    init(_ values: SessionValues) {
        self.values = values
    }

    /// A new configuration with the shared cache, cookies and credentials.
    open class var `default`: URLSessionConfiguration { URLSessionConfiguration(.standard()) }

    /// A new configuration with stores of its own that exist in memory only and end with the session.
    open class var ephemeral: URLSessionConfiguration { URLSessionConfiguration(.ephemeral()) }

    /// A new configuration for transfers that go on in a process of their own.
    ///
    /// - Parameter identifier: names the session across launches of the program. Must not be empty: that is a
    ///   programming error.
    open class func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        precondition(!identifier.isEmpty, "a background session needs an identifier that is not empty")
        return URLSessionConfiguration(.background(identifier))
    }

    /// The older name of ``background(withIdentifier:)``.
    @available(*, deprecated, renamed: "background(withIdentifier:)")
    open class func backgroundSessionConfiguration(_ identifier: String) -> URLSessionConfiguration {
        background(withIdentifier: identifier)
    }

    /// An independent configuration. The stores themselves are shared by the copies.
    open func copy(with zone: NSZone? = nil) -> Any { URLSessionConfiguration(snapshot) }

    /// All values as they are now, for a session to keep.
    package var snapshot: SessionValues {
        var snapshot = lock.withLock { values }
        // A subclass may answer with fields of its own.
        snapshot.httpAdditionalHeaders = httpAdditionalHeaders
        return snapshot
    }

    private func read<Value>(_ path: KeyPath<SessionValues, Value>) -> Value {
        lock.withLock { values[keyPath: path] }
    }

    private func write<Value>(_ path: WritableKeyPath<SessionValues, Value>, _ value: Value) {
        // What was there before is let go after the lock, for its end may run foreign code.
        var value = value
        lock.withLock { swap(&values[keyPath: path], &value) }
    }

    /// The identifier of a background configuration, else nil.
    open var identifier: String? { read(\.identifier) }

    /// The cache policy of requests that set none.
    open var requestCachePolicy: NSURLRequest.CachePolicy {
        get { read(\.requestCachePolicy) }
        set { write(\.requestCachePolicy, newValue) }
    }

    /// The longest gap without any activity, in seconds, for requests that set none; 60.
    open var timeoutIntervalForRequest: TimeInterval {
        get { read(\.timeoutIntervalForRequest) }
        set { write(\.timeoutIntervalForRequest, newValue) }
    }

    /// The longest time a task may take from start to end, in seconds; one week.
    open var timeoutIntervalForResource: TimeInterval {
        get { read(\.timeoutIntervalForResource) }
        set { write(\.timeoutIntervalForResource, newValue) }
    }

    /// What kind of traffic the session carries: a hint.
    open var networkServiceType: NSURLRequest.NetworkServiceType {
        get { read(\.networkServiceType) }
        set { write(\.networkServiceType, newValue) }
    }

    /// Whether cellular interfaces may be used; true. A request can only forbid more.
    open var allowsCellularAccess: Bool {
        get { read(\.allowsCellularAccess) }
        set { write(\.allowsCellularAccess, newValue) }
    }

    /// Whether metered interfaces may be used; true.
    open var allowsExpensiveNetworkAccess: Bool {
        get { read(\.allowsExpensiveNetworkAccess) }
        set { write(\.allowsExpensiveNetworkAccess, newValue) }
    }

    /// Whether interfaces in a data-saving mode may be used; true.
    open var allowsConstrainedNetworkAccess: Bool {
        get { read(\.allowsConstrainedNetworkAccess) }
        set { write(\.allowsConstrainedNetworkAccess, newValue) }
    }

    /// Whether interfaces of very low capacity may be used; false.
    open var allowsUltraConstrainedNetworkAccess: Bool {
        get { read(\.allowsUltraConstrainedNetworkAccess) }
        set { write(\.allowsUltraConstrainedNetworkAccess, newValue) }
    }

    /// Whether name resolution must be validated with DNSSEC; false.
    open var requiresDNSSECValidation: Bool {
        get { read(\.requiresDNSSECValidation) }
        set { write(\.requiresDNSSECValidation, newValue) }
    }

    /// Whether tasks wait for a route to the host instead of failing at once; false. Background sessions always wait.
    open var waitsForConnectivity: Bool {
        get { read(\.waitsForConnectivity) }
        set { write(\.waitsForConnectivity, newValue) }
    }

    /// Whether background transfers may be put off to a better time; false.
    open var isDiscretionary: Bool {
        get { read(\.isDiscretionary) }
        set { write(\.isDiscretionary, newValue) }
    }

    /// The container background downloads of an app extension are put in. Kept; there are none on Linux.
    open var sharedContainerIdentifier: String? {
        get { read(\.sharedContainerIdentifier) }
        set { write(\.sharedContainerIdentifier, newValue) }
    }

    /// Whether the program is started again for events of a background session; true.
    open var sessionSendsLaunchEvents: Bool {
        get { read(\.sessionSendsLaunchEvents) }
        set { write(\.sessionSendsLaunchEvents, newValue) }
    }

    /// The proxies to use. Nil stands for the system's, an empty dictionary for none.
    open var connectionProxyDictionary: [AnyHashable: Any]? {
        get { read(\.connectionProxyDictionary) }
        set { write(\.connectionProxyDictionary, newValue) }
    }

    /// The proxies to use; takes the place of ``connectionProxyDictionary`` unless empty.
    open var proxyConfigurations: [ProxyConfiguration] {
        get { read(\.proxyConfigurations) }
        set { write(\.proxyConfigurations, newValue) }
    }

    /// The lowest version of TLS that is accepted; 1.2.
    open var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { read(\.tlsMinimumSupportedProtocolVersion) }
        set { write(\.tlsMinimumSupportedProtocolVersion, newValue) }
    }

    /// The highest version of TLS that is offered; 1.3.
    open var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t {
        get { read(\.tlsMaximumSupportedProtocolVersion) }
        set { write(\.tlsMaximumSupportedProtocolVersion, newValue) }
    }

    /// The older name of ``tlsMinimumSupportedProtocolVersion``. Setting `sslProtocolUnknown` changes nothing.
    @available(*, deprecated, renamed: "tlsMinimumSupportedProtocolVersion")
    open var tlsMinimumSupportedProtocol: SSLProtocol {
        get { SSLProtocol(tlsMinimumSupportedProtocolVersion) }
        set { if let version = newValue.version { tlsMinimumSupportedProtocolVersion = version } }
    }

    /// The older name of ``tlsMaximumSupportedProtocolVersion``. Setting `sslProtocolUnknown` changes nothing.
    @available(*, deprecated, renamed: "tlsMaximumSupportedProtocolVersion")
    open var tlsMaximumSupportedProtocol: SSLProtocol {
        get { SSLProtocol(tlsMaximumSupportedProtocolVersion) }
        set { if let version = newValue.version { tlsMaximumSupportedProtocolVersion = version } }
    }

    /// Whether HTTP/1.1 pipelining was asked for; false. Kept for the source's sake: the loader never pipelines.
    open var httpShouldUsePipelining: Bool {
        get { read(\.httpShouldUsePipelining) }
        set { write(\.httpShouldUsePipelining, newValue) }
    }

    /// Whether stored cookies are attached to requests; true.
    open var httpShouldSetCookies: Bool {
        get { read(\.httpShouldSetCookies) }
        set { write(\.httpShouldSetCookies, newValue) }
    }

    /// Which cookies of responses are stored; those of the main document's domain.
    open var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { read(\.httpCookieAcceptPolicy) }
        set { write(\.httpCookieAcceptPolicy, newValue) }
    }

    /// Header fields for every request. A request's own field of the same name, in any case, wins.
    open var httpAdditionalHeaders: [AnyHashable: Any]? {
        get { read(\.httpAdditionalHeaders) }
        set { write(\.httpAdditionalHeaders, newValue) }
    }

    /// How many connections to one host the session opens at most; 6. HTTP/2 and HTTP/3 need one.
    open var httpMaximumConnectionsPerHost: Int {
        get { read(\.httpMaximumConnectionsPerHost) }
        set { write(\.httpMaximumConnectionsPerHost, newValue) }
    }

    /// Where cookies are kept. Nil: none are sent or stored.
    open var httpCookieStorage: HTTPCookieStorage? {
        get { read(\.httpCookieStorage) }
        set { write(\.httpCookieStorage, newValue) }
    }

    /// Where credentials are kept. Nil: none are looked up or stored.
    open var urlCredentialStorage: URLCredentialStorage? {
        get { read(\.urlCredentialStorage) }
        set { write(\.urlCredentialStorage, newValue) }
    }

    /// Where responses are kept. Nil: none are.
    open var urlCache: URLCache? {
        get { read(\.urlCache) }
        set { write(\.urlCache, newValue) }
    }

    /// `URLProtocol` subclasses that are asked before the built-in protocols, the first one first.
    open var protocolClasses: [AnyClass]? {
        get { read(\.protocolClasses) }
        set { write(\.protocolClasses, newValue) }
    }

    /// Whether a session may use several paths at once.
    open var multipathServiceType: MultipathServiceType {
        get { read(\.multipathServiceType) }
        set { write(\.multipathServiceType, newValue) }
    }

    /// Kept; has no effect, as on Apple platforms today.
    @available(*, deprecated, message: "Not supported")
    open var shouldUseExtendedBackgroundIdleMode: Bool {
        get { read(\.shouldUseExtendedBackgroundIdleMode) }
        set { write(\.shouldUseExtendedBackgroundIdleMode, newValue) }
    }

    /// Whether what only Apple's older loader offers, such as FTP, is available; true.
    open var usesClassicLoadingMode: Bool {
        get { read(\.usesClassicLoadingMode) }
        set { write(\.usesClassicLoadingMode, newValue) }
    }

    /// Whether safe requests may be sent in the first flight of a resumed handshake; false.
    open var enablesEarlyData: Bool {
        get { read(\.enablesEarlyData) }
        set { write(\.enablesEarlyData, newValue) }
    }
}
