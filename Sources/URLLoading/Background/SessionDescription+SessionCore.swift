internal import BackgroundTransfers
internal import Foundation
internal import LoadingSemantics

extension SessionDescription {
    /// A background session for the service.
    init(_ core: SessionCore, identifier: String) {
        self.init(identifier: identifier)
        let values = core.configuration
        maximumPerHost = values.httpMaximumConnectionsPerHost
        minimumTLS = values.tlsMinimumSupportedProtocolVersion.rawValue
        maximumTLS = values.tlsMaximumSupportedProtocolVersion.rawValue
        proxies = values.proxySettings().flatMap { Self.propertyList($0) }
        let security = values.appTransportSecurity ?? Program.information?["NSAppTransportSecurity"] as? [String: Any]
        transportSecurity = security.flatMap { Self.propertyList($0) }
        usesCookies = values.httpShouldSetCookies
        cookiePolicy = Int(values.httpCookieAcceptPolicy.rawValue)
        group = values.httpCookieStorage?.group
        hasStoredCookies = values.httpCookieStorage === HTTPCookieStorage.shared || group != nil
        hasStoredCredentials = values.urlCredentialStorage === URLCredentialStorage.shared
        userAgent = RequestDefaults.userAgent(programVersion: values.programVersion)
        asksServerTrust = core.asksServerTrust
        givesIdentities = true
        delegateKind = core.delegateReference.map {
            "\(String(reflecting: type(of: $0.delegate))) \(Program.fileIdentity)"
        }
        isTrustUnknown = asksServerTrust && core.background?.isTrustKnown != true
        launch = values.sessionSendsLaunchEvents ? values.backgroundLaunch?.method : nil
    }

    private static func propertyList(_ values: [String: Any]) -> Data? {
        try? PropertyListSerialization.data(fromPropertyList: values, format: .binary, options: 0)
    }
}

extension SessionCore {
    /// Whether the delegate may decide about server trust.
    var asksServerTrust: Bool {
        !(delegateReference?.lacks([
            .sessionDidReceiveChallenge, .sessionDidReceiveChallengeAsync, .taskDidReceiveChallenge,
            .taskDidReceiveChallengeAsync,
        ]) ?? true)
    }
}
