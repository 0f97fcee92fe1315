package import BackgroundTransfers
internal import Foundation
internal import LoadingConnections
internal import LoadingEvents
package import LoadingPipeline
internal import LoadingSemantics
internal import LoadingStorage
package import LoadingTransport

/// The environment of an application's background session in the process of the service: with the cookies, the
/// credentials, the HSTS hosts and the alternative services of that application.
package func makeBackgroundEnvironment(
    application: String, session: SessionDescription, loop: EventLoop
) -> LoadingEnvironment {
    let stores = ApplicationStores.of(application)
    var values = SessionValues()
    values.httpMaximumConnectionsPerHost = session.maximumPerHost
    values.tlsMinimumSupportedProtocolVersion = tls_protocol_version_t(rawValue: session.minimumTLS) ?? .TLSv12
    values.tlsMaximumSupportedProtocolVersion = tls_protocol_version_t(rawValue: session.maximumTLS) ?? .TLSv13
    values.connectionProxyDictionary = dictionary(session.proxies)
    values.httpShouldSetCookies = session.usesCookies
    values.httpCookieAcceptPolicy =
        HTTPCookie.AcceptPolicy(rawValue: UInt(clamping: session.cookiePolicy)) ?? .onlyFromMainDocumentDomain
    if session.hasStoredCookies {
        values.httpCookieStorage =
            session.group.map { HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: $0) }
            ?? stores.cookies
    }
    if session.hasStoredCredentials { values.urlCredentialStorage = stores.credentials }
    // Not the settings of this program.
    var security: AppTransportSecurity?
    if let settings = dictionary(session.transportSecurity) {
        values.appTransportSecurity = settings
        security = AppTransportSecurity(values)
    }
    return LoadingEnvironment(
        values, transportSecurity: security, hsts: stores.hsts, alternatives: stores.alternatives,
        userAgent: session.userAgent, on: loop)
}

private func dictionary(_ propertyList: Data?) -> [String: Any]? {
    propertyList.flatMap { try? PropertyListSerialization.propertyList(from: $0, format: nil) as? [String: Any] }
}

/// The persistent stores of an application, which all of its background sessions share.
private final class ApplicationStores: Sendable {
    let cookies: HTTPCookieStorage
    let credentials: URLCredentialStorage
    let hsts: HSTSStore
    let alternatives: PersistentAlternatives
    private let hstsCopy: HSTSCopy

    private init(_ application: String) {
        let directory = StorageDirectory(.data, application: application)
        cookies = HTTPCookieStorage(in: directory)
        credentials = URLCredentialStorage(in: directory, application: application)
        hsts = HSTSStore(suffixes: .system)
        hstsCopy = HSTSCopy(in: directory)
        hstsCopy.follow(hsts)
        alternatives = PersistentAlternatives(in: directory)
    }

    static func of(_ application: String) -> ApplicationStores {
        // The process's own stores may be in use.
        if application == Program.identifier { return own }
        return known.stores(of: application)
    }

    private init() {
        cookies = .shared
        credentials = .shared
        hsts = .shared
        hstsCopy = .shared
        alternatives = .shared
    }

    private static let own = ApplicationStores()
    private static let known = Known()

    private final class Known: @unchecked Sendable {
        // Sendable: `lock` guards the stores.
        private let lock = Lock(.outer)
        private var all: [String: ApplicationStores] = [:]

        func stores(of application: String) -> ApplicationStores {
            lock.withLock {
                if let known = all[application] { return known }
                let new = ApplicationStores(application)
                all[application] = new
                return new
            }
        }
    }
}
