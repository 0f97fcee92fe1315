public import Foundation
package import LoadingEvents
package import LoadingPipeline
package import LoadingSemantics
package import LoadingTransport

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

    /// A new configuration for transfers that go on in a process of their own. Today its sessions are ordinary ones, which
    /// end with the program.
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

    private func read<Value>(_ value: (SessionValues) -> Value) -> Value {
        lock.withLock { value(values) }
    }

    private func write<Value>(_ value: Value, _ exchange: (inout SessionValues, inout Value) -> Void) {
        // What was there before is let go after the lock, for its end may run foreign code.
        var value = value
        lock.withLock { exchange(&values, &value) }
    }

    /// The identifier of a background configuration, else nil. No effect yet: there are no background sessions.
    open var identifier: String? { read { $0.identifier } }

    /// The cache policy of requests that set none.
    open var requestCachePolicy: NSURLRequest.CachePolicy {
        get { read { $0.requestCachePolicy } }
        set { write(newValue) { swap(&$0.requestCachePolicy, &$1) } }
    }

    /// The longest gap without any activity, in seconds, for requests that set none; 60.
    open var timeoutIntervalForRequest: TimeInterval {
        get { read { $0.timeoutIntervalForRequest } }
        set { write(newValue) { swap(&$0.timeoutIntervalForRequest, &$1) } }
    }

    /// The longest time a task may take from start to end, in seconds; one week.
    open var timeoutIntervalForResource: TimeInterval {
        get { read { $0.timeoutIntervalForResource } }
        set { write(newValue) { swap(&$0.timeoutIntervalForResource, &$1) } }
    }

    /// What kind of traffic the session carries: a hint. On Linux the packets of its connections are marked with the class
    /// that RFC 4594 has for it. A request may say otherwise.
    open var networkServiceType: NSURLRequest.NetworkServiceType {
        get { read { $0.networkServiceType } }
        set { write(newValue) { swap(&$0.networkServiceType, &$1) } }
    }

    /// Whether cellular interfaces may be used; true. No effect on Linux: the kernel does not tell which those are.
    open var allowsCellularAccess: Bool {
        get { read { $0.allowsCellularAccess } }
        set { write(newValue) { swap(&$0.allowsCellularAccess, &$1) } }
    }

    /// Whether metered interfaces may be used; true. No effect on Linux: the kernel does not tell which those are.
    open var allowsExpensiveNetworkAccess: Bool {
        get { read { $0.allowsExpensiveNetworkAccess } }
        set { write(newValue) { swap(&$0.allowsExpensiveNetworkAccess, &$1) } }
    }

    /// Whether interfaces in a data-saving mode may be used; true. No effect on Linux: there is no such mode.
    open var allowsConstrainedNetworkAccess: Bool {
        get { read { $0.allowsConstrainedNetworkAccess } }
        set { write(newValue) { swap(&$0.allowsConstrainedNetworkAccess, &$1) } }
    }

    /// Whether interfaces of very low capacity may be used; false. No effect on Linux: the kernel does not tell which
    /// those are.
    open var allowsUltraConstrainedNetworkAccess: Bool {
        get { read { $0.allowsUltraConstrainedNetworkAccess } }
        set { write(newValue) { swap(&$0.allowsUltraConstrainedNetworkAccess, &$1) } }
    }

    /// Whether name resolution must be validated with DNSSEC; false. Nobody here can prove an answer, so a host that has
    /// to be looked up cannot be found then.
    open var requiresDNSSECValidation: Bool {
        get { read { $0.requiresDNSSECValidation } }
        set { write(newValue) { swap(&$0.requiresDNSSECValidation, &$1) } }
    }

    /// Whether tasks wait for a route to the host instead of failing at once; false. Background sessions always wait.
    open var waitsForConnectivity: Bool {
        get { read { $0.waitsForConnectivity } }
        set { write(newValue) { swap(&$0.waitsForConnectivity, &$1) } }
    }

    /// Whether background transfers may be put off to a better time; false. No effect yet: there are no background
    /// sessions.
    open var isDiscretionary: Bool {
        get { read { $0.isDiscretionary } }
        set { write(newValue) { swap(&$0.isDiscretionary, &$1) } }
    }

    /// The container background downloads of an app extension are put in. No effect on Linux: there are no containers.
    open var sharedContainerIdentifier: String? {
        get { read { $0.sharedContainerIdentifier } }
        set { write(newValue) { swap(&$0.sharedContainerIdentifier, &$1) } }
    }

    /// Whether the program is started again for events of a background session; true. No effect yet: there are no
    /// background sessions.
    open var sessionSendsLaunchEvents: Bool {
        get { read { $0.sessionSendsLaunchEvents } }
        set { write(newValue) { swap(&$0.sessionSendsLaunchEvents, &$1) } }
    }

    /// The proxies to use. Nil stands for the system's, an empty dictionary for none. On Linux the system's are those of the
    /// environment: `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`. A script that picks
    /// proxies is run where there is Duktape.
    open var connectionProxyDictionary: [AnyHashable: Any]? {
        get { read { $0.connectionProxyDictionary } }
        set { write(newValue) { swap(&$0.connectionProxyDictionary, &$1) } }
    }

    /// The proxies to use; takes the place of ``connectionProxyDictionary`` unless empty.
    open var proxyConfigurations: [ProxyConfiguration] {
        get { read { $0.proxyConfigurations } }
        set { write(newValue) { swap(&$0.proxyConfigurations, &$1) } }
    }

    /// The lowest version of TLS that is accepted; 1.2.
    open var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { read { $0.tlsMinimumSupportedProtocolVersion } }
        set { write(newValue) { swap(&$0.tlsMinimumSupportedProtocolVersion, &$1) } }
    }

    /// The highest version of TLS that is offered; 1.3.
    open var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t {
        get { read { $0.tlsMaximumSupportedProtocolVersion } }
        set { write(newValue) { swap(&$0.tlsMaximumSupportedProtocolVersion, &$1) } }
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

    /// Whether HTTP/1.1 pipelining was asked for; false. No effect on Linux: the loader never pipelines.
    open var httpShouldUsePipelining: Bool {
        get { read { $0.httpShouldUsePipelining } }
        set { write(newValue) { swap(&$0.httpShouldUsePipelining, &$1) } }
    }

    /// Whether stored cookies are attached to requests; true.
    open var httpShouldSetCookies: Bool {
        get { read { $0.httpShouldSetCookies } }
        set { write(newValue) { swap(&$0.httpShouldSetCookies, &$1) } }
    }

    /// Which cookies of responses are stored; those of the main document's domain.
    open var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { read { $0.httpCookieAcceptPolicy } }
        set { write(newValue) { swap(&$0.httpCookieAcceptPolicy, &$1) } }
    }

    /// Header fields for every request. A request's own field of the same name, in any case, wins.
    open var httpAdditionalHeaders: [AnyHashable: Any]? {
        get { read { $0.httpAdditionalHeaders } }
        set { write(newValue) { swap(&$0.httpAdditionalHeaders, &$1) } }
    }

    /// How many connections to one host the session opens at most; 6. HTTP/2 and HTTP/3 need one.
    open var httpMaximumConnectionsPerHost: Int {
        get { read { $0.httpMaximumConnectionsPerHost } }
        set { write(newValue) { swap(&$0.httpMaximumConnectionsPerHost, &$1) } }
    }

    /// Where cookies are kept. Nil: none are sent or stored.
    open var httpCookieStorage: HTTPCookieStorage? {
        get { read { $0.httpCookieStorage } }
        set { write(newValue) { swap(&$0.httpCookieStorage, &$1) } }
    }

    /// Where credentials are kept. Nil: none are looked up or stored.
    open var urlCredentialStorage: URLCredentialStorage? {
        get { read { $0.urlCredentialStorage } }
        set { write(newValue) { swap(&$0.urlCredentialStorage, &$1) } }
    }

    /// Where responses are kept. Nil: none are.
    open var urlCache: URLCache? {
        get { read { $0.urlCache } }
        set { write(newValue) { swap(&$0.urlCache, &$1) } }
    }

    /// `URLProtocol` subclasses that are asked before the built-in protocols, the first one first.
    open var protocolClasses: [AnyClass]? {
        get { read { $0.protocolClasses } }
        set { write(newValue) { swap(&$0.protocolClasses, &$1) } }
    }

    /// Whether a session may use several paths at once; none unless set. On Linux any other value asks the kernel for
    /// connections of several paths (MPTCP), and which it uses when is its choice; where it has none, there is one path.
    open var multipathServiceType: MultipathServiceType {
        get { read { $0.multipathServiceType } }
        set { write(newValue) { swap(&$0.multipathServiceType, &$1) } }
    }

    /// Whether connections are kept while the program is in the background; false. No effect on Linux, nor on Apple
    /// platforms today.
    @available(*, deprecated, message: "Not supported")
    open var shouldUseExtendedBackgroundIdleMode: Bool {
        get { read { $0.shouldUseExtendedBackgroundIdleMode } }
        set { write(newValue) { swap(&$0.shouldUseExtendedBackgroundIdleMode, &$1) } }
    }

    /// Whether what only Apple's older loader offers, such as FTP, is available, and what only the newer one does
    /// (`enablesEarlyData`) is not; true.
    open var usesClassicLoadingMode: Bool {
        get { read { $0.usesClassicLoadingMode } }
        set { write(newValue) { swap(&$0.usesClassicLoadingMode, &$1) } }
    }

    /// Whether a GET or a HEAD may go out over HTTP/3 before a server has answered with which the session has spoken before;
    /// false. It saves a round trip, and whoever hears the request may send it to the server again. So it has no body and no
    /// `Authorization` field, and no delegate is there to be asked about the server. Not in the classic loading mode.
    open var enablesEarlyData: Bool {
        get { read { $0.enablesEarlyData } }
        set { write(newValue) { swap(&$0.enablesEarlyData, &$1) } }
    }

    /// What the session asks of its connections, in the words of the `NSAppTransportSecurity` dictionary of an
    /// `Info.plist`: with `[:]` no `http` at all, TLS 1.2 or later and forward secrecy; exceptions, local networking and
    /// pinned domains by Apple's keys. Read from anywhere, such as a property list or JSON:
    ///
    ///     configuration.appTransportSecurity = ["NSExceptionDomains": ["printer.example": [
    ///         "NSExceptionAllowsInsecureHTTPLoads": true]]]
    ///
    /// Nil, unless set: what the program's own `Info.plist` says, and without one nothing. An addition to Apple's
    /// interface, where that file alone can say it.
    open var appTransportSecurity: [String: Any]? {
        get { read { $0.appTransportSecurity } }
        set { write(newValue) { swap(&$0.appTransportSecurity, &$1) } }
    }

    /// The hosts that want secure connections only. Shared by the copies, as other stores are (C-34).
    package var hsts: HSTSStore {
        get { read { $0.hsts } }
        set { write(newValue) { swap(&$0.hsts, &$1) } }
    }

    /// Where downloads are written, so that what is kept of them outlives the process's temporary files; nil for the
    /// folder for those. Not Apple's, hence not public.
    package var downloadFolder: String? {
        get { read { $0.downloadFolder } }
        set { write(newValue) { swap(&$0.downloadFolder, &$1) } }
    }

    /// The only version of HTTP that may be spoken; nil for all. Not Apple's, hence not public.
    package var requiredHTTPVersion: HTTPVersion? {
        get { read { $0.requiredHTTPVersion } }
        set { write(newValue) { swap(&$0.requiredHTTPVersion, &$1) } }
    }

    /// Called with each head as it goes out or comes in, on a thread that must not be held up; a copy of it is in the metrics
    /// too. Not Apple's, hence not public.
    package var headObserver: (@Sendable (MessageHead) -> Void)? {
        get { read { $0.headObserver } }
        set { write(newValue) { swap(&$0.headObserver, &$1) } }
    }

    /// The loop that a session runs on, so that tests can step its time; nil for one of the process's. Not Apple's, hence not
    /// public.
    package var loop: EventLoop? {
        get { read { $0.loop } }
        set { write(newValue) { swap(&$0.loop, &$1) } }
    }

    /// The version that `User-Agent` says where the program has no `Info.plist` (MISC-2). Not Apple's, hence not public.
    package var programVersion: String? {
        get { read { $0.programVersion } }
        set { write(newValue) { swap(&$0.programVersion, &$1) } }
    }
}
