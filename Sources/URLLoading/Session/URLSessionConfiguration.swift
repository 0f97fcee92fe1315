public import Foundation
package import LoadingEvents
package import LoadingPipeline
package import LoadingSemantics
package import LoadingTransport

/// The configuration of a session. A session copies it at creation; later changes have no effect on the session.
///
/// Thread-safe.
open class URLSessionConfiguration: NSObject, NSCopying, @unchecked Sendable {
    // Sendable: `lock` guards all mutable state.
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

    /// A new configuration with its own stores, which are in memory only.
    open class var ephemeral: URLSessionConfiguration { URLSessionConfiguration(.ephemeral()) }

    /// A new configuration for background transfers: uploads from files and downloads, over HTTP and HTTPS. They run in
    /// a separate process, one for each user, which continues when this program ends. A session that a program creates
    /// again with the same identifier has the same tasks, and its delegate gets the callbacks of the time between.
    ///
    /// The session needs a delegate, and its tasks have no completion handlers and no `async` forms. Redirects are
    /// always followed.
    ///
    /// - Parameter identifier: Identifies the session in this program, also when the program is started again. One
    ///   session at a time uses it; the tasks of others fail with `URLError.backgroundSessionInUseByAnotherProcess`. An
    ///   empty identifier is a programming error and traps.
    open class func background(withIdentifier identifier: String) -> URLSessionConfiguration {
        precondition(!identifier.isEmpty, "a background session needs an identifier that is not empty")
        return URLSessionConfiguration(.background(identifier))
    }

    /// The older name of ``background(withIdentifier:)``.
    @available(*, deprecated, renamed: "background(withIdentifier:)")
    open class func backgroundSessionConfiguration(_ identifier: String) -> URLSessionConfiguration {
        background(withIdentifier: identifier)
    }

    /// An independent copy. Copies share the stores.
    open func copy(with zone: NSZone? = nil) -> Any { URLSessionConfiguration(snapshot) }

    /// Whether all values are equal and the stores are the same objects, as with two default configurations.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? URLSessionConfiguration else { return false }
        return other === self || snapshot.isEqual(to: other.snapshot)
    }

    /// The same for equal configurations. It does not change when a property is set.
    open override var hash: Int { read { $0.identifier.hashValue } }

    /// The current values, for a session.
    package var snapshot: SessionValues {
        let snapshot = lock.withLock { values }
        return type(of: self) == URLSessionConfiguration.self ? snapshot : overridden(snapshot)
    }

    /// The values with those of the properties, which a subclass may override; but not of those that are other names of
    /// these, or have no effect.
    private func overridden(_ values: SessionValues) -> SessionValues {
        var snapshot = values
        snapshot.requestCachePolicy = requestCachePolicy
        snapshot.timeoutIntervalForRequest = timeoutIntervalForRequest
        snapshot.timeoutIntervalForResource = timeoutIntervalForResource
        snapshot.networkServiceType = networkServiceType
        snapshot.allowsCellularAccess = allowsCellularAccess
        snapshot.allowsExpensiveNetworkAccess = allowsExpensiveNetworkAccess
        snapshot.allowsConstrainedNetworkAccess = allowsConstrainedNetworkAccess
        snapshot.allowsUltraConstrainedNetworkAccess = allowsUltraConstrainedNetworkAccess
        snapshot.requiresDNSSECValidation = requiresDNSSECValidation
        snapshot.waitsForConnectivity = waitsForConnectivity
        snapshot.isDiscretionary = isDiscretionary
        snapshot.sharedContainerIdentifier = sharedContainerIdentifier
        snapshot.sessionSendsLaunchEvents = sessionSendsLaunchEvents
        snapshot.connectionProxyDictionary = connectionProxyDictionary
        snapshot.proxyConfigurations = proxyConfigurations
        snapshot.tlsMinimumSupportedProtocolVersion = tlsMinimumSupportedProtocolVersion
        snapshot.tlsMaximumSupportedProtocolVersion = tlsMaximumSupportedProtocolVersion
        snapshot.httpShouldUsePipelining = httpShouldUsePipelining
        snapshot.httpShouldSetCookies = httpShouldSetCookies
        snapshot.httpCookieAcceptPolicy = httpCookieAcceptPolicy
        snapshot.httpAdditionalHeaders = httpAdditionalHeaders
        snapshot.httpMaximumConnectionsPerHost = httpMaximumConnectionsPerHost
        snapshot.httpCookieStorage = httpCookieStorage
        snapshot.urlCredentialStorage = urlCredentialStorage
        snapshot.urlCache = urlCache
        snapshot.protocolClasses = protocolClasses
        snapshot.multipathServiceType = multipathServiceType
        snapshot.usesClassicLoadingMode = usesClassicLoadingMode
        snapshot.enablesEarlyData = enablesEarlyData
        snapshot.enablesWebSocketCompression = enablesWebSocketCompression
        snapshot.appTransportSecurity = appTransportSecurity
        return snapshot
    }

    private func read<Value>(_ value: (SessionValues) -> Value) -> Value {
        lock.withLock { value(values) }
    }

    private func write<Value>(_ value: Value, _ exchange: (inout SessionValues, inout Value) -> Void) {
        // The old value is released after the lock, because its deinit may run the program's code.
        var value = value
        lock.withLock { exchange(&values, &value) }
    }

    /// The identifier of a background configuration, or nil.
    open var identifier: String? { read { $0.identifier } }

    /// The default cache policy of requests.
    open var requestCachePolicy: NSURLRequest.CachePolicy {
        get { read { $0.requestCachePolicy } }
        set { write(newValue) { swap(&$0.requestCachePolicy, &$1) } }
    }

    /// The default idle timeout of requests in seconds: the maximum time without activity. The default is 60; zero or
    /// less is none.
    open var timeoutIntervalForRequest: TimeInterval {
        get { read { $0.timeoutIntervalForRequest } }
        set { write(newValue) { swap(&$0.timeoutIntervalForRequest, &$1) } }
    }

    /// The maximum duration of a task in seconds. The default is one week; zero or less is none.
    open var timeoutIntervalForResource: TimeInterval {
        get { read { $0.timeoutIntervalForResource } }
        set { write(newValue) { swap(&$0.timeoutIntervalForResource, &$1) } }
    }

    /// The kind of traffic, a hint that requests can override. On Linux it sets the traffic class (RFC 4594) of the
    /// connections' packets.
    open var networkServiceType: NSURLRequest.NetworkServiceType {
        get { read { $0.networkServiceType } }
        set { write(newValue) { swap(&$0.networkServiceType, &$1) } }
    }

    /// Whether cellular interfaces may be used. The default is true. No effect on Linux: the kernel does not identify
    /// them.
    open var allowsCellularAccess: Bool {
        get { read { $0.allowsCellularAccess } }
        set { write(newValue) { swap(&$0.allowsCellularAccess, &$1) } }
    }

    /// Whether expensive (metered) interfaces may be used. The default is true. No effect on Linux: the kernel does not
    /// identify them.
    open var allowsExpensiveNetworkAccess: Bool {
        get { read { $0.allowsExpensiveNetworkAccess } }
        set { write(newValue) { swap(&$0.allowsExpensiveNetworkAccess, &$1) } }
    }

    /// Whether interfaces in low data mode may be used. The default is true. No effect on Linux: there is no such mode.
    open var allowsConstrainedNetworkAccess: Bool {
        get { read { $0.allowsConstrainedNetworkAccess } }
        set { write(newValue) { swap(&$0.allowsConstrainedNetworkAccess, &$1) } }
    }

    /// Whether ultra-constrained interfaces may be used. The default is false. No effect on Linux: the kernel does not
    /// identify them.
    open var allowsUltraConstrainedNetworkAccess: Bool {
        get { read { $0.allowsUltraConstrainedNetworkAccess } }
        set { write(newValue) { swap(&$0.allowsUltraConstrainedNetworkAccess, &$1) } }
    }

    /// Whether name resolution must be validated with DNSSEC. The default is false. The library cannot validate DNSSEC,
    /// so with true every host name that must be resolved fails.
    open var requiresDNSSECValidation: Bool {
        get { read { $0.requiresDNSSECValidation } }
        set { write(newValue) { swap(&$0.requiresDNSSECValidation, &$1) } }
    }

    /// Whether tasks wait for a route to the host instead of failing at once. The default is false. Background sessions
    /// always wait.
    open var waitsForConnectivity: Bool {
        get { read { $0.waitsForConnectivity } }
        set { write(newValue) { swap(&$0.waitsForConnectivity, &$1) } }
    }

    /// Whether background transfers may wait for a good time: external power, and a network that is not metered. The
    /// default is false. No effect in other sessions.
    open var isDiscretionary: Bool {
        get { read { $0.isDiscretionary } }
        set { write(newValue) { swap(&$0.isDiscretionary, &$1) } }
    }

    /// The shared container for background downloads of an app extension. No effect on Linux: there are no containers.
    open var sharedContainerIdentifier: String? {
        get { read { $0.sharedContainerIdentifier } }
        set { write(newValue) { swap(&$0.sharedContainerIdentifier, &$1) } }
    }

    /// Whether the program is launched for events of a background session, in the way of ``backgroundLaunch``. The
    /// default is true. No effect in other sessions.
    open var sessionSendsLaunchEvents: Bool {
        get { read { $0.sessionSendsLaunchEvents } }
        set { write(newValue) { swap(&$0.sessionSendsLaunchEvents, &$1) } }
    }

    /// The proxy settings. Nil means the system's, an empty dictionary no proxies. On Linux the system's are the
    /// environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`. PAC scripts require Duktape.
    open var connectionProxyDictionary: [AnyHashable: Any]? {
        get { read { $0.connectionProxyDictionary } }
        set { write(newValue) { swap(&$0.connectionProxyDictionary, &$1) } }
    }

    /// The proxies. If not empty, replaces ``connectionProxyDictionary``.
    open var proxyConfigurations: [ProxyConfiguration] {
        get { read { $0.proxyConfigurations } }
        set { write(newValue) { swap(&$0.proxyConfigurations, &$1) } }
    }

    /// The minimum TLS version. The default is 1.2.
    open var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { read { $0.tlsMinimumSupportedProtocolVersion } }
        set { write(newValue) { swap(&$0.tlsMinimumSupportedProtocolVersion, &$1) } }
    }

    /// The maximum TLS version. The default is 1.3.
    open var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t {
        get { read { $0.tlsMaximumSupportedProtocolVersion } }
        set { write(newValue) { swap(&$0.tlsMaximumSupportedProtocolVersion, &$1) } }
    }

    /// The older name of ``tlsMinimumSupportedProtocolVersion``. A value that is not one version, or SSL, has no
    /// effect.
    open var tlsMinimumSupportedProtocol: SSLProtocol {
        get { SSLProtocol(tlsMinimumSupportedProtocolVersion) }
        set { if let version = newValue.version { tlsMinimumSupportedProtocolVersion = version } }
    }

    /// The older name of ``tlsMaximumSupportedProtocolVersion``. A value that is not one version, or SSL, has no
    /// effect.
    open var tlsMaximumSupportedProtocol: SSLProtocol {
        get { SSLProtocol(tlsMaximumSupportedProtocolVersion) }
        set { if let version = newValue.version { tlsMaximumSupportedProtocolVersion = version } }
    }

    /// Whether to use HTTP/1.1 pipelining. The default is false. No effect on Linux: the loader never pipelines.
    open var httpShouldUsePipelining: Bool {
        get { read { $0.httpShouldUsePipelining } }
        set { write(newValue) { swap(&$0.httpShouldUsePipelining, &$1) } }
    }

    /// Whether stored cookies are sent with requests. The default is true.
    open var httpShouldSetCookies: Bool {
        get { read { $0.httpShouldSetCookies } }
        set { write(newValue) { swap(&$0.httpShouldSetCookies, &$1) } }
    }

    /// Which cookies of responses are stored. The default is those of the main document's domain.
    open var httpCookieAcceptPolicy: HTTPCookie.AcceptPolicy {
        get { read { $0.httpCookieAcceptPolicy } }
        set { write(newValue) { swap(&$0.httpCookieAcceptPolicy, &$1) } }
    }

    /// Header fields for every request. Fields of the request with the same name override them.
    open var httpAdditionalHeaders: [AnyHashable: Any]? {
        get { read { $0.httpAdditionalHeaders } }
        set { write(newValue) { swap(&$0.httpAdditionalHeaders, &$1) } }
    }

    /// The maximum number of connections per host. The default is 6. HTTP/2 and HTTP/3 need one.
    open var httpMaximumConnectionsPerHost: Int {
        get { read { $0.httpMaximumConnectionsPerHost } }
        set { write(newValue) { swap(&$0.httpMaximumConnectionsPerHost, &$1) } }
    }

    /// The cookie storage. Nil: cookies are neither sent nor stored.
    open var httpCookieStorage: HTTPCookieStorage? {
        get { read { $0.httpCookieStorage } }
        set { write(newValue) { swap(&$0.httpCookieStorage, &$1) } }
    }

    /// The credential storage. Nil: credentials are neither looked up nor stored.
    open var urlCredentialStorage: URLCredentialStorage? {
        get { read { $0.urlCredentialStorage } }
        set { write(newValue) { swap(&$0.urlCredentialStorage, &$1) } }
    }

    /// The response cache. Nil: responses are not cached.
    open var urlCache: URLCache? {
        get { read { $0.urlCache } }
        set { write(newValue) { swap(&$0.urlCache, &$1) } }
    }

    /// `URLProtocol` subclasses that take precedence over the built-in loaders, in order. The default is empty: the
    /// built-in loaders are not classes.
    open var protocolClasses: [AnyClass]? {
        get { read { $0.protocolClasses } }
        set { write(newValue) { swap(&$0.protocolClasses, &$1) } }
    }

    /// Whether to use multiple paths. The default is `none`. On Linux any other value requests multipath TCP, and the
    /// kernel selects the paths; without kernel support there is one path.
    open var multipathServiceType: MultipathServiceType {
        get { read { $0.multipathServiceType } }
        set { write(newValue) { swap(&$0.multipathServiceType, &$1) } }
    }

    /// Whether connections are kept while the program is in the background. The default is false. No effect on Linux,
    /// nor on current Apple platforms.
    @available(*, deprecated, message: "Not supported")
    open var shouldUseExtendedBackgroundIdleMode: Bool {
        get { read { $0.shouldUseExtendedBackgroundIdleMode } }
        set { write(newValue) { swap(&$0.shouldUseExtendedBackgroundIdleMode, &$1) } }
    }

    /// Whether the features of Apple's classic loader, such as FTP, are available, and those of the newer loader
    /// (`enablesEarlyData`) are not. The default is true.
    open var usesClassicLoadingMode: Bool {
        get { read { $0.usesClassicLoadingMode } }
        set { write(newValue) { swap(&$0.usesClassicLoadingMode, &$1) } }
    }

    /// Whether GET and HEAD requests may be sent as HTTP/3 early data in a resumed connection. The default is false. It
    /// saves a round trip, but an attacker can replay the request. So it is used only without body, without
    /// `Authorization` field, and without a delegate that evaluates server trust. Not in classic loading mode.
    open var enablesEarlyData: Bool {
        get { read { $0.enablesEarlyData } }
        set { write(newValue) { swap(&$0.enablesEarlyData, &$1) } }
    }

    /// Whether WebSocket tasks offer to compress messages (permessage-deflate, RFC 7692). The server decides. Not in
    /// Apple's API, whose tasks never do. The default is false: compression takes up to 300 kB of memory for each
    /// connection, and text that an attacker chooses beside a secret reveals the secret by its compressed size.
    @_disfavoredOverload
    open var enablesWebSocketCompression: Bool {
        get { read { $0.enablesWebSocketCompression } }
        set { write(newValue) { swap(&$0.enablesWebSocketCompression, &$1) } }
    }

    /// The App Transport Security settings, in the format of the `NSAppTransportSecurity` dictionary of an
    /// `Info.plist`. `[:]` forbids `http`, and requires TLS 1.2 or later with forward secrecy. Exceptions, local
    /// networking and pinned domains use Apple's keys:
    ///
    ///     configuration.appTransportSecurity = ["NSExceptionDomains": ["printer.example": [
    ///         "NSExceptionAllowsInsecureHTTPLoads": true]]]
    ///
    /// The default is nil: the settings of the program's `Info.plist`, if any. An addition to Apple's API, where only
    /// that file can contain the settings.
    @_disfavoredOverload
    open var appTransportSecurity: [String: Any]? {
        get { read { $0.appTransportSecurity } }
        set { write(newValue) { swap(&$0.appTransportSecurity, &$1) } }
    }

    var backgroundLaunchValue: BackgroundLaunch? {
        get { read { $0.backgroundLaunch } }
        set { write(newValue) { swap(&$0.backgroundLaunch, &$1) } }
    }

    /// Connects to the background service, for tests; nil for the user's service. Not part of Apple's API, so not
    /// public.
    package var connectToBackgroundService: (@Sendable () -> Result<Int32, LoadError>)? {
        get { read { $0.connectToBackgroundService } }
        set { write(newValue) { swap(&$0.connectToBackgroundService, &$1) } }
    }

    /// The HSTS hosts. Copies share them, like other stores (C-34).
    package var hsts: HSTSStore {
        // The persistent store is opened without the lock, because its first use reads from the disk.
        get { read { $0 }.hsts }
        set {
            // Keeps the old store until the lock is released.
            let previous = read { $0 }
            lock.withLock { values.hsts = newValue }
            withExtendedLifetime(previous) {}
        }
    }

    /// The folder for downloads, so that partial files survive the process's temporary files; nil for the temporary
    /// directory. Not part of Apple's API, so not public.
    package var downloadFolder: String? {
        get { read { $0.downloadFolder } }
        set { write(newValue) { swap(&$0.downloadFolder, &$1) } }
    }

    /// The required HTTP version; nil for any. Not part of Apple's API, so not public.
    package var requiredHTTPVersion: HTTPVersion? {
        get { read { $0.requiredHTTPVersion } }
        set { write(newValue) { swap(&$0.requiredHTTPVersion, &$1) } }
    }

    /// Where connections go instead of where DNS leads. Not part of Apple's API, so not public.
    package var destinations: ConnectionDestinations {
        get { read { $0.destinations } }
        set { write(newValue) { swap(&$0.destinations, &$1) } }
    }

    /// Certificate authorities that are trusted besides the system's, in DER. Not part of Apple's API, so not public.
    package var additionalAuthorities: [[UInt8]] {
        get { read { $0.additionalAuthorities } }
        set { write(newValue) { swap(&$0.additionalAuthorities, &$1) } }
    }

    /// The proxy variables instead of those of the environment (PROXY-8); nil for the environment, and if that has
    /// none, the desktop. Not part of Apple's API, so not public.
    package var proxyVariables: [String: String]? {
        get { read { $0.proxyVariables } }
        set { write(newValue) { swap(&$0.proxyVariables, &$1) } }
    }

    /// Called with each sent and received head, on a thread that must not be blocked. The metrics contain the heads
    /// too. Not part of Apple's API, so not public.
    package var headObserver: (@Sendable (MessageHead) -> Void)? {
        get { read { $0.headObserver } }
        set { write(newValue) { swap(&$0.headObserver, &$1) } }
    }

    /// Called with each event of each task, on a thread that must not be blocked. Not part of Apple's API, so not
    /// public.
    package var eventObserver: (@Sendable (LoadEvent) -> Void)? {
        get { read { $0.eventObserver } }
        set { write(newValue) { swap(&$0.eventObserver, &$1) } }
    }

    /// The event loop of the session, for tests with a virtual clock; nil for a loop of the process. Not part of
    /// Apple's API, so not public.
    package var loop: EventLoop? {
        get { read { $0.loop } }
        set { write(newValue) { swap(&$0.loop, &$1) } }
    }

    /// The version in `User-Agent` of a program without `Info.plist` (MISC-2). Not part of Apple's API, so not public.
    package var programVersion: String? {
        get { read { $0.programVersion } }
        set { write(newValue) { swap(&$0.programVersion, &$1) } }
    }
}

extension URLSessionConfiguration {
    /// How multiple paths to a host are used. On Linux any value except `none` requests multipath TCP from the kernel.
    @frozen public enum MultipathServiceType: Int, Sendable {
        /// One path.
        case none = 0
        /// A second path takes over when the first is lost.
        case handover = 1
        /// The path with the least delay.
        case interactive = 2
        /// All paths together.
        case aggregate = 3
    }
}
