package import Foundation
package import LoadingConnections
package import LoadingEvents
package import LoadingPipeline
package import LoadingSemantics
package import LoadingTransport

/// Everything a configuration says, as one value: what a session keeps and reads without a lock.
package struct SessionValues: @unchecked Sendable {
    // Sendable: the dictionaries and classes in it are never changed after they are set, the stores are thread-safe.
    package var identifier: String?
    package var requestCachePolicy = NSURLRequest.CachePolicy.useProtocolCachePolicy
    package var timeoutIntervalForRequest: TimeInterval = TimeLimits.standard.requestTimeout
    package var timeoutIntervalForResource: TimeInterval = TimeLimits.standard.resourceTimeout
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
    package var protocolClasses: [AnyClass]?
    package var multipathServiceType = URLSessionConfiguration.MultipathServiceType.none
    package var shouldUseExtendedBackgroundIdleMode = false
    package var usesClassicLoadingMode = true
    package var enablesEarlyData = false
    /// The keys of `NSAppTransportSecurity`; nil for those of the program.
    package var appTransportSecurity: [String: Any]?
    /// Nil for the one that lasts, which is read when it is asked for.
    private var ownHSTS: HSTSStore?
    package var hasLastingHosts: Bool { ownHSTS == nil }
    package var hsts: HSTSStore {
        get { ownHSTS ?? .shared }
        set { ownHSTS = newValue }
    }
    /// Nil for those that last.
    private var ownAlternatives: InMemoryAlternativeServices?
    package var lastingAlternatives: LastingAlternatives? { ownAlternatives == nil ? .shared : nil }
    package var alternatives: any AlternativeServicesStore { ownAlternatives ?? LastingAlternatives.shared }
    /// Where downloads are written; nil for the folder for temporary files.
    package var downloadFolder: String?
    /// The only version of HTTP that may be spoken; nil for all.
    package var requiredHTTPVersion: HTTPVersion?
    /// Called with each head that goes out or comes in.
    package var headObserver: (@Sendable (MessageHead) -> Void)?
    /// Of a program that has no `Info.plist` to say it.
    package var programVersion: String?
    /// The loop that the session runs on; nil for one of the process's.
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
        values.ownAlternatives = InMemoryAlternativeServices()
        return values
    }

    static func background(_ identifier: String) -> SessionValues {
        var values = standard()
        values.identifier = identifier
        values.urlCache = nil
        return values
    }

    /// The additional header fields ready to be sent, sorted by name. What is no pair of texts, or would break a
    /// message, is left out.
    package func additionalFields() -> [(name: String, value: String)] {
        (httpAdditionalHeaders ?? [:]).compactMap { key, value -> (name: String, value: String)? in
            guard let name = key.base as? String, isFieldName(name) else { return nil }
            let text = value as? String ?? (value as? any CustomStringConvertible)?.description
            guard let text, isFieldValue(text) else { return nil }
            return (name, unfoldedFieldValue(text))
        }.sorted { $0.name < $1.name }
    }

    /// The proxy dictionary with plain texts for keys, whichever kind of text the user wrote them in; nil stands for
    /// the system's settings.
    package func proxySettings() -> [String: Any]? {
        connectionProxyDictionary.map { dictionary in
            Dictionary(
                dictionary.compactMap { key, value in (key.base as? String).map { ($0, value) } },
                uniquingKeysWith: { first, _ in first })
        }
    }
}
