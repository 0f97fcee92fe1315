package import Foundation
package import LoadingConnections
package import LoadingEvents
package import LoadingPipeline
package import LoadingSemantics
package import LoadingTransport

/// The values of a configuration, which a session reads without a lock.
package struct SessionValues: @unchecked Sendable {
    // Sendable: dictionaries and objects are not changed after they are set, and the stores are thread-safe.
    package var identifier: String?
    package var requestCachePolicy = NSURLRequest.CachePolicy.useProtocolCachePolicy
    package var timeoutIntervalForRequest: TimeInterval = TimeLimits.standard.requestTimeout
    package var timeoutIntervalForResource: TimeInterval = TimeLimits.standard.resourceTimeout
    /// The longest duration of a task in seconds.
    package var totalTimeout: TimeInterval { timeoutIntervalForResource.timeout }
    package var networkServiceType = NSURLRequest.NetworkServiceType.default
    package var allowsCellularAccess = true
    package var allowsExpensiveNetworkAccess = true
    package var allowsConstrainedNetworkAccess = true
    package var allowsUltraConstrainedNetworkAccess = false
    package var requiresDNSSECValidation = false
    package var waitsForConnectivity = false
    package var isDiscretionary = false
    package var sharedContainerIdentifier: String?
    package var sessionSendsLaunchEvents = true
    package var connectionProxyDictionary: [AnyHashable: Any]?
    package var proxyConfigurations: [ProxyConfiguration] = []
    package var tlsMinimumSupportedProtocolVersion = tls_protocol_version_t.TLSv12
    package var tlsMaximumSupportedProtocolVersion = tls_protocol_version_t.TLSv13
    package var httpShouldUsePipelining = false
    package var httpShouldSetCookies = true
    package var httpCookieAcceptPolicy = HTTPCookie.AcceptPolicy.onlyFromMainDocumentDomain
    package var httpAdditionalHeaders: [AnyHashable: Any]?
    package var httpMaximumConnectionsPerHost = 6
    package var httpCookieStorage: HTTPCookieStorage?
    package var urlCredentialStorage: URLCredentialStorage?
    package var urlCache: URLCache?
    package var protocolClasses: [AnyClass]? = []
    /// Whether classes that the program has registered for all sessions may load the tasks. Not in sessions of the
    /// library.
    package var usesRegisteredProtocols = true
    package var multipathServiceType = URLSessionConfiguration.MultipathServiceType.none
    package var shouldUseExtendedBackgroundIdleMode = false
    package var usesClassicLoadingMode = true
    package var enablesEarlyData = false
    package var enablesWebSocketCompression = false
    /// The keys of `NSAppTransportSecurity`; nil for those of the program.
    package var appTransportSecurity: [String: Any]?
    /// Nil for the persistent store, which is read on first access.
    private var ownHSTS: HSTSStore?
    package var hasPersistentHosts: Bool { ownHSTS == nil }
    package var hsts: HSTSStore {
        get { ownHSTS ?? .shared }
        set { ownHSTS = newValue }
    }
    /// Nil for the persistent store.
    private var ownAlternatives: TransientAlternatives?
    package var persistentAlternatives: PersistentAlternatives? { ownAlternatives == nil ? .shared : nil }
    package var alternatives: any AlternativeServicesStore { ownAlternatives ?? PersistentAlternatives.shared }
    /// How the program is launched for events of a background session.
    package var backgroundLaunch: BackgroundLaunch?
    /// Connects to the background service, and may block. Nil for the user's service.
    package var connectToBackgroundService: (@Sendable () -> Result<Int32, LoadError>)?
    /// The folder for downloads; nil for the temporary directory.
    package var downloadFolder: String?
    /// The required HTTP version; nil for any.
    package var requiredHTTPVersion: HTTPVersion?
    /// Where connections go instead of where DNS leads.
    package var destinations = ConnectionDestinations()
    /// Certificate authorities that are trusted besides the system's, in DER.
    package var additionalAuthorities: [[UInt8]] = []
    /// The proxy variables instead of those of the environment; nil for the environment.
    package var proxyVariables: [String: String]?
    /// Called with each sent and received head.
    package var headObserver: (@Sendable (MessageHead) -> Void)?
    /// Called with each event of each task.
    package var eventObserver: (@Sendable (LoadEvent) -> Void)?
    /// The version of a program without `Info.plist`.
    package var programVersion: String?
    /// The event loop of the session; nil for a loop of the process.
    package var loop: EventLoop?

    package init() {}

    static func standard() -> SessionValues {
        var values = SessionValues()
        values.httpCookieStorage = .shared
        values.urlCredentialStorage = .shared
        values.urlCache = .shared
        return values
    }

    static func ephemeral() -> SessionValues {
        var values = SessionValues()
        values.httpCookieStorage = HTTPCookieStorage()
        values.urlCredentialStorage = URLCredentialStorage()
        values.urlCache = URLCache(memoryCapacity: URLCache.standardMemoryCapacity, diskCapacity: 0, directory: nil)
        values.hsts = HSTSStore()
        values.ownAlternatives = TransientAlternatives()
        return values
    }

    static func background(_ identifier: String) -> SessionValues {
        var values = standard()
        values.identifier = identifier
        values.urlCache = nil
        return values
    }

    /// Whether all values that a program can set are equal, and the stores are the same objects.
    func isEqual(to other: SessionValues) -> Bool {
        identifier == other.identifier && requestCachePolicy == other.requestCachePolicy
            && timeoutIntervalForRequest == other.timeoutIntervalForRequest
            && timeoutIntervalForResource == other.timeoutIntervalForResource
            && networkServiceType == other.networkServiceType && hasEqualRoutes(to: other)
            && isDiscretionary == other.isDiscretionary
            && sharedContainerIdentifier == other.sharedContainerIdentifier
            && sessionSendsLaunchEvents == other.sessionSendsLaunchEvents
            && backgroundLaunch == other.backgroundLaunch
            && tlsMinimumSupportedProtocolVersion == other.tlsMinimumSupportedProtocolVersion
            && tlsMaximumSupportedProtocolVersion == other.tlsMaximumSupportedProtocolVersion
            && hasEqualHTTP(to: other)
            && httpCookieStorage === other.httpCookieStorage && urlCredentialStorage === other.urlCredentialStorage
            && urlCache === other.urlCache
            && protocolClasses?.map(ObjectIdentifier.init) == other.protocolClasses?.map(ObjectIdentifier.init)
            && areEqual(appTransportSecurity, other.appTransportSecurity)
    }

    private func hasEqualRoutes(to other: SessionValues) -> Bool {
        allowsCellularAccess == other.allowsCellularAccess
            && allowsExpensiveNetworkAccess == other.allowsExpensiveNetworkAccess
            && allowsConstrainedNetworkAccess == other.allowsConstrainedNetworkAccess
            && allowsUltraConstrainedNetworkAccess == other.allowsUltraConstrainedNetworkAccess
            && requiresDNSSECValidation == other.requiresDNSSECValidation
            && waitsForConnectivity == other.waitsForConnectivity
            && areEqual(connectionProxyDictionary, other.connectionProxyDictionary)
            && proxyConfigurations == other.proxyConfigurations && multipathServiceType == other.multipathServiceType
    }

    private func hasEqualHTTP(to other: SessionValues) -> Bool {
        httpShouldUsePipelining == other.httpShouldUsePipelining && httpShouldSetCookies == other.httpShouldSetCookies
            && httpCookieAcceptPolicy == other.httpCookieAcceptPolicy
            && areEqual(httpAdditionalHeaders, other.httpAdditionalHeaders)
            && httpMaximumConnectionsPerHost == other.httpMaximumConnectionsPerHost
            && shouldUseExtendedBackgroundIdleMode == other.shouldUseExtendedBackgroundIdleMode
            && usesClassicLoadingMode == other.usesClassicLoadingMode && enablesEarlyData == other.enablesEarlyData
            && enablesWebSocketCompression == other.enablesWebSocketCompression
    }

    /// The additional header fields, sorted by name. Entries that are not strings or not valid fields are skipped.
    package func additionalFields() -> [(name: String, value: String)] {
        guard let httpAdditionalHeaders else { return [] }
        return httpAdditionalHeaders.compactMap { key, value -> (name: String, value: String)? in
            guard let name = key.base as? String, isFieldName(name) else { return nil }
            let text = value as? String ?? (value as? any CustomStringConvertible)?.description
            guard let text, isFieldValue(text) else { return nil }
            return (name, unfoldedFieldValue(text))
        }.sorted { $0.name < $1.name }
    }

    /// The proxy dictionary with keys as `String`; nil for the system's settings.
    package func proxySettings() -> [String: Any]? {
        connectionProxyDictionary.map { dictionary in
            Dictionary(
                dictionary.compactMap { key, value in (key.base as? String).map { ($0, value) } },
                uniquingKeysWith: { first, _ in first })
        }
    }
}

extension TimeInterval {
    /// A program's timeout as the loader takes it. Programs for Apple platforms write zero for none.
    var timeout: TimeInterval { self > 0 ? self : .infinity }
}

/// Whether two dictionaries of a program have equal contents.
private func areEqual(_ first: [AnyHashable: Any]?, _ second: [AnyHashable: Any]?) -> Bool {
    guard let first, let second else { return first == nil && second == nil }
    return first.count == second.count
        && first.allSatisfy { key, value in second[key].map { areEqualValues(value, $0) } ?? false }
}

/// The same of two values of dictionaries: dictionaries, arrays, or what else can be compared.
private func areEqualValues(_ first: Any, _ second: Any) -> Bool {
    switch (first, second) {
    case (let first as [AnyHashable: Any], let second as [AnyHashable: Any]): areEqual(first, second)
    case (let first as [Any], let second as [Any]):
        first.count == second.count && zip(first, second).allSatisfy { areEqualValues($0, $1) }
    case (let first as AnyHashable, let second as AnyHashable): first == second
    default: false
    }
}
