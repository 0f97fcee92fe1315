import Foundation
import Testing

@testable import URLLoading

@Suite struct URLSessionConfigurationTests {
    // C-3, C-5 to C-32
    @Test func defaults() {
        for configuration in [
            URLSessionConfiguration.default, .ephemeral, .background(withIdentifier: "id"),
        ] {
            #expect(configuration.requestCachePolicy == .useProtocolCachePolicy)
            #expect(configuration.timeoutIntervalForRequest == 60)
            #expect(configuration.timeoutIntervalForResource == 604_800)
            #expect(configuration.networkServiceType == .default)
            #expect(configuration.allowsCellularAccess)
            #expect(configuration.allowsExpensiveNetworkAccess)
            #expect(configuration.allowsConstrainedNetworkAccess)
            #expect(!configuration.allowsUltraConstrainedNetworkAccess)
            #expect(!configuration.requiresDNSSECValidation)
            #expect(!configuration.waitsForConnectivity)
            #expect(!configuration.isDiscretionary)
            #expect(configuration.sharedContainerIdentifier == nil)
            #expect(configuration.sessionSendsLaunchEvents)
            #expect(configuration.connectionProxyDictionary == nil)
            #expect(configuration.tlsMinimumSupportedProtocolVersion == .TLSv12)
            #expect(configuration.tlsMaximumSupportedProtocolVersion == .TLSv13)
            #expect(!configuration.httpShouldUsePipelining)
            #expect(configuration.httpShouldSetCookies)
            #expect(configuration.httpCookieAcceptPolicy == .onlyFromMainDocumentDomain)
            #expect(configuration.httpAdditionalHeaders == nil)
            #expect(configuration.httpMaximumConnectionsPerHost == 6)
            #expect(configuration.protocolClasses?.isEmpty == true)
            #expect(configuration.multipathServiceType == .none)
            #expect(configuration.usesClassicLoadingMode)
            #expect(!configuration.enablesEarlyData)
        }
    }

    // S-15, C-3, C-25, C-26, C-27
    @Test func storesByKind() {
        let standard = URLSessionConfiguration.default
        #expect(standard.identifier == nil)
        #expect(standard.httpCookieStorage === HTTPCookieStorage.shared)
        #expect(standard.urlCredentialStorage === URLCredentialStorage.shared)
        #expect(standard.urlCache === URLCache.shared)
        let background = URLSessionConfiguration.background(withIdentifier: "id")
        #expect(background.identifier == "id")
        #expect(background.httpCookieStorage === HTTPCookieStorage.shared)
        #expect(background.urlCache == nil)
        let ephemeral = URLSessionConfiguration.ephemeral
        #expect(ephemeral.identifier == nil)
        #expect(ephemeral.httpCookieStorage != nil && ephemeral.httpCookieStorage !== HTTPCookieStorage.shared)
        #expect(ephemeral.urlCredentialStorage != nil)
        #expect(ephemeral.urlCredentialStorage !== URLCredentialStorage.shared)
        #expect(ephemeral.urlCache?.diskCapacity == 0)
        #expect(ephemeral.urlCache?.memoryCapacity == 4 << 20)
        #expect(ephemeral.httpCookieStorage !== URLSessionConfiguration.ephemeral.httpCookieStorage)
    }

    // C-1, C-34
    @Test func copiesAreIndependentButShareStores() throws {
        let first = URLSessionConfiguration.ephemeral
        first.timeoutIntervalForRequest = 5
        let second = try #require(first.copy() as? URLSessionConfiguration)
        second.timeoutIntervalForRequest = 6
        second.httpAdditionalHeaders = ["A": "1"]
        #expect(first.timeoutIntervalForRequest == 5)
        #expect(first.httpAdditionalHeaders == nil)
        #expect(first.httpCookieStorage === second.httpCookieStorage)
        #expect(first.urlCache === second.urlCache)
        #expect(URLSessionConfiguration.default.timeoutIntervalForRequest == 60)
    }

    // C-37
    @Test func configurationsWithEqualValuesAreEqual() {
        typealias Configuration = URLSessionConfiguration
        #expect(Configuration.default == Configuration.default)
        let (first, second) = ("first", "second")
        #expect(Configuration.background(withIdentifier: first) == Configuration.background(withIdentifier: first))
        #expect(Configuration.background(withIdentifier: first) != Configuration.background(withIdentifier: second))
        #expect(Configuration.ephemeral != Configuration.ephemeral)
        let ephemeral = Configuration.ephemeral
        ephemeral.httpAdditionalHeaders = ["A": "1", "B": 2]
        ephemeral.connectionProxyDictionary = [:]
        ephemeral.protocolClasses = [NeverLoading.self]
        let session = URLSession(configuration: ephemeral)
        let copy = session.configuration
        session.invalidateAndCancel()
        #expect(copy !== ephemeral)
        #expect(copy == ephemeral)
        #expect(copy.hash == ephemeral.hash)
        #expect(copy != Configuration.default)
    }

    // C-37
    @Test(arguments: changes.indices) func configurationsThatDifferInOneValueAreNotEqual(index: Int) {
        let (first, second) = (URLSessionConfiguration.default, URLSessionConfiguration.default)
        Self.changes[index](first)
        #expect(first != second)
        Self.changes[index](second)
        #expect(first == second)
        #expect(first.hash == second.hash)
    }

    private final class NeverLoading: URLProtocol, @unchecked Sendable {}

    private static let cache = URLCache(memoryCapacity: 0, diskCapacity: 0)

    private static let changes: [@Sendable (URLSessionConfiguration) -> Void] = [
        { $0.requestCachePolicy = .reloadIgnoringLocalCacheData },
        { $0.timeoutIntervalForRequest = 1 },
        { $0.timeoutIntervalForResource = 1 },
        { $0.networkServiceType = .background },
        { $0.allowsCellularAccess = false },
        { $0.allowsExpensiveNetworkAccess = false },
        { $0.allowsConstrainedNetworkAccess = false },
        { $0.allowsUltraConstrainedNetworkAccess = true },
        { $0.requiresDNSSECValidation = true },
        { $0.waitsForConnectivity = true },
        { $0.isDiscretionary = true },
        { $0.sharedContainerIdentifier = "group" },
        { $0.sessionSendsLaunchEvents = false },
        { $0.backgroundLaunch = .command("/bin/true") },
        { $0.connectionProxyDictionary = ["HTTPEnable": 1, "ExceptionsList": ["a", "b"]] },
        { $0.proxyConfigurations = [ProxyConfiguration(socksv5Proxy: .hostPort(host: "h", port: 1))] },
        { $0.tlsMinimumSupportedProtocolVersion = .TLSv13 },
        { $0.tlsMaximumSupportedProtocolVersion = .TLSv12 },
        { $0.httpShouldUsePipelining = true },
        { $0.httpShouldSetCookies = false },
        { $0.httpCookieAcceptPolicy = .never },
        { $0.httpAdditionalHeaders = ["A": "1"] },
        { $0.httpMaximumConnectionsPerHost = 1 },
        { $0.httpCookieStorage = nil },
        { $0.urlCredentialStorage = nil },
        { $0.urlCache = cache },
        { $0.protocolClasses = [NeverLoading.self] },
        { $0.multipathServiceType = .handover },
        { $0.usesClassicLoadingMode = false },
        { $0.enablesEarlyData = true },
        { $0.enablesWebSocketCompression = true },
        { $0.appTransportSecurity = ["NSExceptionDomains": ["a": ["b": true, "c": "d"] as [String: Any]]] },
    ]

    #if compiler(>=6.2)
        // C-2
        @Test func emptyIdentifierIsAProgrammingError() async {
            await #expect(processExitsWith: .failure) {
                _ = URLSessionConfiguration.background(withIdentifier: "")
            }
        }
    #endif

    // S-26
    @Test func snapshotDoesNotFollowChanges() {
        let configuration = URLSessionConfiguration.default
        let snapshot = configuration.snapshot
        configuration.httpMaximumConnectionsPerHost = 1
        #expect(snapshot.httpMaximumConnectionsPerHost == 6)
        #expect(configuration.snapshot.httpMaximumConnectionsPerHost == 1)
    }

    // C-23
    @Test func additionalFieldsAreCheckedAndSorted() {
        let configuration = URLSessionConfiguration.default
        configuration.httpAdditionalHeaders = [
            "X-B": "2", "X-A": 1, "bad name": "x", "X-Break": "a\nb", 5: "five",
        ]
        let fields = configuration.snapshot.additionalFields()
        #expect(fields.map(\.name) == ["X-A", "X-B"])
        #expect(fields.map(\.value) == ["1", "2"])
    }

    // PROXY-1, PROXY-4
    @Test func proxySettingsHaveTextKeys() {
        let configuration = URLSessionConfiguration.default
        #expect(configuration.snapshot.proxySettings() == nil)
        configuration.connectionProxyDictionary = [:]
        #expect(configuration.snapshot.proxySettings()?.isEmpty == true)
        configuration.connectionProxyDictionary = [
            kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy as String: "proxy", "HTTPPort": 3128,
        ]
        let settings = configuration.snapshot.proxySettings()
        #expect(settings?["HTTPEnable"] as? Int == 1)
        #expect(settings?["HTTPProxy"] as? String == "proxy")
        #expect(settings?["HTTPPort"] as? Int == 3128)
    }

    // C-18
    @Test func proxyConfigurations() {
        var proxy = ProxyConfiguration(socksv5Proxy: .hostPort(host: "proxy.example", port: 1080))
        proxy.applyCredential(username: "u", password: "hunter2")
        proxy.matchDomains = ["example.com"]
        let configuration = URLSessionConfiguration.default
        #expect(configuration.proxyConfigurations.isEmpty)
        configuration.proxyConfigurations = [proxy]
        #expect(configuration.snapshot.proxyConfigurations == [proxy])
        #expect(proxy.kind == .socksv5)
        #expect(!proxy.allowFailover)
        #expect((proxy.username, proxy.password) == ("u", "hunter2"))
        var dumped = ""
        dump(proxy, to: &dumped)
        #expect("\(proxy)" == "socksv5 proxy.example:1080")
        #expect(!dumped.contains("hunter2"))
    }

    @Test func subclassesMayAnswerForThemselves() {
        final class Branded: URLSessionConfiguration, @unchecked Sendable {
            override var httpAdditionalHeaders: [AnyHashable: Any]? {
                get { ["X-Brand": "b"] }
                set {}
            }
        }
        #expect(Branded(.standard()).snapshot.additionalFields().map(\.name) == ["X-Brand"])
    }

    @Test func propertiesMayBeOverridden() {
        final class Own: URLSessionConfiguration, @unchecked Sendable {
            override var protocolClasses: [AnyClass]? {
                get { [ScriptedProtocol.self] }
                set {}
            }
            override var timeoutIntervalForRequest: TimeInterval {
                get { 7 }
                set {}
            }
            override var httpCookieStorage: HTTPCookieStorage? {
                get { nil }
                set {}
            }
        }
        let session = URLSession(configuration: Own(.standard()))
        #expect(session.configuration.protocolClasses?.map { "\($0)" } == ["ScriptedProtocol"])
        #expect(session.configuration.timeoutIntervalForRequest == 7)
        #expect(session.configuration.httpCookieStorage == nil)
        #expect(session.configuration.timeoutIntervalForResource == 604_800)
        session.invalidateAndCancel()
    }

    // C-19
    @Test(arguments: [
        (SSLProtocol.tlsProtocol1, tls_protocol_version_t.TLSv10), (.tlsProtocol11, .TLSv11),
        (.tlsProtocol12, .TLSv12), (.tlsProtocol13, .TLSv13), (.dtlsProtocol1, .DTLSv10), (.dtlsProtocol12, .DTLSv12),
    ])
    func olderVersionNamesMeanTheSame(_ old: SSLProtocol, _ new: tls_protocol_version_t) {
        #expect(old.version == new)
        #expect(SSLProtocol(new) == old)
    }

    // C-19
    @Test func olderNamesOfNoVersion() {
        let configuration = URLSessionConfiguration.ephemeral
        for name in [SSLProtocol.sslProtocolUnknown, .sslProtocol2, .sslProtocol3, .sslProtocol3Only, .sslProtocolAll] {
            configuration.tlsMaximumSupportedProtocol = name
            #expect(configuration.tlsMaximumSupportedProtocolVersion == .TLSv13)
        }
        configuration.tlsMaximumSupportedProtocol = .tlsProtocol1Only
        #expect(configuration.tlsMaximumSupportedProtocolVersion == .TLSv10)
        configuration.tlsMaximumSupportedProtocol = .tlsProtocolMaxSupported
        #expect(configuration.tlsMaximumSupportedProtocolVersion == .TLSv13)
    }

    /// Reads and writes from many threads at once; the thread sanitizer judges.
    @Test func concurrentUse() async {
        let configuration = URLSessionConfiguration.default
        await withTaskGroup(of: Void.self) { group in
            for number in 1...4 {
                group.addTask {
                    for _ in 0..<200 {
                        configuration.httpAdditionalHeaders = ["N": "\(number)"]
                        configuration.httpMaximumConnectionsPerHost = number
                        _ = configuration.snapshot
                    }
                }
            }
        }
        #expect(1...4 ~= configuration.httpMaximumConnectionsPerHost)
    }
}
