import Foundation
import Glibc
import TestSupport
import Testing
import URLLoading

/// The effect of each configuration property, one row per property: on the wire, on a store, or in a task's results.
/// Properties without effect must state this in their comments.
@Suite(.leavesNothing) struct ConfigurationTableTests {
    /// The name in the source.
    enum Property: String, CaseIterable, Sendable {
        case identifier, requestCachePolicy, timeoutIntervalForRequest, timeoutIntervalForResource
        case networkServiceType, allowsCellularAccess, allowsExpensiveNetworkAccess, allowsConstrainedNetworkAccess
        case allowsUltraConstrainedNetworkAccess, requiresDNSSECValidation, waitsForConnectivity, isDiscretionary
        case sharedContainerIdentifier, sessionSendsLaunchEvents, connectionProxyDictionary, proxyConfigurations
        case tlsMinimumSupportedProtocolVersion, tlsMaximumSupportedProtocolVersion
        case tlsMinimumSupportedProtocol, tlsMaximumSupportedProtocol
        case httpShouldUsePipelining, httpShouldSetCookies, httpCookieAcceptPolicy, httpAdditionalHeaders
        case httpMaximumConnectionsPerHost, httpCookieStorage, urlCredentialStorage, urlCache, protocolClasses
        case multipathServiceType, shouldUseExtendedBackgroundIdleMode, usesClassicLoadingMode, enablesEarlyData
        case appTransportSecurity, enablesWebSocketCompression
    }

    private static func declared() throws -> DeclaredProperties {
        try DeclaredProperties(of: "URLSessionConfiguration", in: "Session", declaredAs: "open var")
    }

    @Test("no property is without a row") func noPropertyIsWithoutARow() throws {
        #expect(try Self.declared().names == Set(Property.allCases.map(\.rawValue)))
    }

    // C-3, C-5, C-6, C-8, C-9, C-12, C-13, C-19, C-21 to C-29, C-31, S-14, S-25
    @Test("the effect of each property", arguments: Property.allCases.filter { $0 != .enablesEarlyData })
    func theEffectOfEachProperty(property: Property) async throws {
        try await Self.declared().prove(property.rawValue, by: effect(of: property)) { try await nothing(property) }
    }

    // C-32
    @Test("the effect of enablesEarlyData", .needsHTTP3, .needs(.gtlsserver)) func theEffectOfEnablesEarlyData()
        async throws
    {
        let property = Property.enablesEarlyData
        try await Self.declared().prove(property.rawValue, by: enablesEarlyData) { try await nothing(property) }
    }

    /// The test of the property's effect; nil for a property without effect.
    private func effect(of property: Property) -> (() async throws -> Void)? {
        switch property {
        case .requestCachePolicy: requestCachePolicy
        case .timeoutIntervalForRequest: { try await timeout { $0.timeoutIntervalForRequest = 0.05 } }
        case .timeoutIntervalForResource: { try await timeout { $0.timeoutIntervalForResource = 0.05 } }
        case .requiresDNSSECValidation: requiresDNSSECValidation
        case .waitsForConnectivity: waitsForConnectivity
        case .connectionProxyDictionary: connectionProxyDictionary
        case .proxyConfigurations: proxyConfigurations
        case .tlsMinimumSupportedProtocolVersion:
            { try await minimumVersion { $0.tlsMinimumSupportedProtocolVersion = .TLSv13 } }
        case .tlsMaximumSupportedProtocolVersion:
            { try await maximumVersion { $0.tlsMaximumSupportedProtocolVersion = .TLSv12 } }
        case .tlsMinimumSupportedProtocol:
            { try await minimumVersion { $0.tlsMinimumSupportedProtocol = .tlsProtocol13 } }
        case .tlsMaximumSupportedProtocol:
            { try await maximumVersion { $0.tlsMaximumSupportedProtocol = .tlsProtocol12 } }
        case .httpShouldSetCookies: httpShouldSetCookies
        case .httpCookieAcceptPolicy: httpCookieAcceptPolicy
        case .httpAdditionalHeaders: httpAdditionalHeaders
        case .httpMaximumConnectionsPerHost: httpMaximumConnectionsPerHost
        case .httpCookieStorage: httpCookieStorage
        case .urlCredentialStorage: urlCredentialStorage
        case .urlCache: urlCache
        case .protocolClasses: protocolClasses
        case .usesClassicLoadingMode: usesClassicLoadingMode
        case .appTransportSecurity: appTransportSecurity
        case .enablesWebSocketCompression: enablesWebSocketCompression
        case .networkServiceType: networkServiceType
        case .multipathServiceType: multipathServiceType
        case .identifier: identifier
        case .enablesEarlyData, .isDiscretionary, .sessionSendsLaunchEvents, .sharedContainerIdentifier,
            .allowsCellularAccess, .allowsExpensiveNetworkAccess,
            .allowsConstrainedNetworkAccess, .allowsUltraConstrainedNetworkAccess, .httpShouldUsePipelining,
            .shouldUseExtendedBackgroundIdleMode:
            nil
        }
    }

    // MARK: Those that do nothing

    // C-10, C-11, C-14 to C-18, C-20, C-30
    private func nothing(_ property: Property) async throws {
        let why: NoEffect =
            switch property {
            case .isDiscretionary, .sessionSendsLaunchEvents: .inOtherSessions
            default: .onLinux
            }
        try await why.expect(of: property.rawValue, try Self.declared()) { configuration in
            switch property {
            case .allowsCellularAccess: configuration.allowsCellularAccess = false
            case .allowsExpensiveNetworkAccess: configuration.allowsExpensiveNetworkAccess = false
            case .allowsConstrainedNetworkAccess: configuration.allowsConstrainedNetworkAccess = false
            case .allowsUltraConstrainedNetworkAccess: configuration.allowsUltraConstrainedNetworkAccess = true
            case .isDiscretionary: configuration.isDiscretionary = true
            case .sharedContainerIdentifier: configuration.sharedContainerIdentifier = "group.example"
            case .sessionSendsLaunchEvents: configuration.sessionSendsLaunchEvents = false
            case .httpShouldUsePipelining: configuration.httpShouldUsePipelining = true
            case .shouldUseExtendedBackgroundIdleMode: configuration.shouldUseExtendedBackgroundIdleMode = true
            default: Issue.record("\(property) is not set")
            }
        }
    }

    // S-22, S-23: sessions with different identifiers have their own tasks
    private func identifier() async throws {
        let service = try BackgroundServiceInProcess()
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        for name in ["one", "two"] {
            let delegate = BackgroundDelegate()
            let session = URLSession(
                configuration: service.configuration(name), delegate: delegate, delegateQueue: nil)
            #expect(session.configuration.identifier == name)
            #expect(session.downloadTask(with: server.url()).taskIdentifier == 1)
            session.finishTasksAndInvalidate()
            _ = try await delegate.calls.waitUntil("the session's end") { $0.last == .invalid }
        }
        service.stop()
    }

    // TLS-1, TLS-3
    private func appTransportSecurity() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let refused = try await LoadRecorder.load(URLRequest(url: server.url())) { $0.appTransportSecurity = [:] }
        #expect(refused == [.failed(.appTransportSecurityRequiresSecureConnection), .invalid])
        #expect(server.connectionCount == 0)
    }

    // MARK: Time, names and ways

    /// An option of the socket over which a session loads.
    private func socketOption(
        _ option: Int32, at level: Int32, _ configure: (URLSessionConfiguration) -> Void
    ) async throws -> [Int32] {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let session = URLSession { configure($0) }
        defer { session.invalidateAndCancel() }
        #expect(try await session.text(server.url()) == "x")
        return ClientSockets.values(of: option, at: level, connectedTo: server.port)
    }

    // C-9: the class that routers know for video (RFC 4594)
    private func networkServiceType() async throws {
        let level = Int32(IPPROTO_IP)
        #expect(try await socketOption(IP_TOS, at: level) { _ in } == [0])
        #expect(try await socketOption(IP_TOS, at: level) { $0.networkServiceType = .video } == [26 << 2])
    }

    // C-29: where the kernel has them
    private func multipathServiceType() async throws {
        let (single, several) = (Int32(IPPROTO_TCP), Int32(262))
        let enabled = try? String(contentsOfFile: "/proc/sys/net/mptcp/enabled", encoding: .utf8)
        let isOffered = enabled?.hasPrefix("1") ?? false
        #expect(try await socketOption(SO_PROTOCOL, at: SOL_SOCKET) { _ in } == [single])
        #expect(
            try await socketOption(SO_PROTOCOL, at: SOL_SOCKET) { $0.multipathServiceType = .handover }
                == [isOffered ? several : single])
    }

    // C-17
    private func connectionProxyDictionary() async throws {
        let proxy = try ScriptedServer.answering(.text("by a proxy"))
        defer { proxy.stop() }
        let session = URLSession {
            $0.connectionProxyDictionary = [
                kCFNetworkProxiesHTTPEnable: 1, kCFNetworkProxiesHTTPProxy: "127.0.0.1",
                kCFNetworkProxiesHTTPPort: proxy.port,
            ]
        }
        defer { session.invalidateAndCancel() }
        #expect(try await session.text(try #require(URL(string: "http://far.test/"))) == "by a proxy")
    }

    // C-18: it takes the place of the dictionary
    private func proxyConfigurations() async throws {
        let proxy = try ScriptedServer(steps: [.expect(method: "CONNECT", target: "far.test:80"), .close])
        defer { proxy.stop() }
        let session = URLSession {
            $0.connectionProxyDictionary = [:]
            $0.proxyConfigurations = [
                ProxyConfiguration(
                    httpCONNECTProxy: .hostPort(
                        host: "127.0.0.1", port: .init(integerLiteral: UInt16(clamping: proxy.port))))
            ]
        }
        defer { session.invalidateAndCancel() }
        let far = try #require(URL(string: "http://far.test/"))
        let error = await #expect(throws: URLError.self) { try await session.text(far) }
        #expect(error?.code == .cannotConnectToHost)
        try await proxy.finish()
    }

    private func requestCachePolicy() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let only = try await LoadRecorder.load(URLRequest(url: server.url())) {
            $0.requestCachePolicy = .returnCacheDataDontLoad
        }
        #expect(only == [.failed(.resourceUnavailable), .invalid])
        #expect(server.connectionCount == 0)
        _ = try await LoadRecorder.load(URLRequest(url: server.url())) {
            $0.requestCachePolicy = .reloadIgnoringLocalCacheData
        }
        #expect(server.requests.map { $0["Cache-Control"] } == ["no-cache"])
    }

    private func timeout(_ configure: (URLSessionConfiguration) -> Void) async throws {
        let server = try ScriptedServer(steps: [.stopReading])
        defer { server.stop() }
        let recorded = try await LoadRecorder.load(URLRequest(url: server.url()), configuring: configure)
        #expect(recorded == [.failed(.timedOut), .invalid])
    }

    private func requiresDNSSECValidation() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.requiresDNSSECValidation = true }
        session.dataTask(with: try #require(URL(string: "http://name.invalid/"))).resume()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid().failure == .cannotFindHost)
        // No name server was asked.
        let transaction = try #require(delegate.metrics.events.first?.transactionMetrics.first)
        #expect(transaction.domainLookupStartDate == nil)
        try await storedWithoutNames()
    }

    /// Stored responses need no name resolution.
    private func storedWithoutNames() async throws {
        let url = try #require(URL(string: "http://name.invalid/"))
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
        for (policy, expected): (URLRequest.CachePolicy, [RecordedEvent]) in [
            (.useProtocolCachePolicy, [.failed(.cannotFindHost), .invalid]),
            (.returnCacheDataElseLoad, [.failed(.cannotFindHost), .invalid]),
            (.returnCacheDataDontLoad, [.failed(.resourceUnavailable), .invalid]),
        ] {
            let found = try await LoadRecorder.load(URLRequest(url: url, cachePolicy: policy)) {
                $0.requiresDNSSECValidation = true
                $0.urlCache = cache
            }
            #expect(found == expected)
        }
        let date = DateFormatter()
        date.locale = Locale(identifier: "en_US_POSIX")
        date.timeZone = TimeZone(secondsFromGMT: 0)
        date.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let fields = ["Cache-Control": "max-age=600", "Date": date.string(from: Date())]
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields))
        cache.storeCachedResponse(
            CachedURLResponse(response: response, data: Data("stored".utf8)), for: URLRequest(url: url))
        for policy in [URLRequest.CachePolicy.useProtocolCachePolicy, .returnCacheDataDontLoad] {
            let recorded = try await LoadRecorder.load(URLRequest(url: url, cachePolicy: policy)) {
                $0.requiresDNSSECValidation = true
                $0.urlCache = cache
            }
            #expect(recorded == [.response(200), .data("stored"), .succeeded, .invalid])
        }
    }

    /// An address to which the kernel has no route.
    private func waitsForConnectivity() async throws {
        let nowhere = try #require(URL(string: "http://224.0.0.1/"))
        #expect(
            try await LoadRecorder.load(nowhere) == [.failed(.notConnectedToInternet), .invalid])
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.waitsForConnectivity = true }
        session.dataTask(with: nowhere).resume()
        try await delegate.calls.wait(for: .waiting(1))
        session.invalidateAndCancel()
        #expect(try await delegate.callsUntilInvalid().failure == .cancelled)
    }

    // MARK: TLS

    private func minimumVersion(_ configure: (URLSessionConfiguration) -> Void) async throws {
        let options = try TrustedAuthority.server().with { $0.maximumVersion = .tls12 }
        let server = try ScriptedServer.answering(.text("x"), tls: options)
        defer { server.stop() }
        #expect(try await LoadRecorder.load(server.url()).last == .invalid)
        #expect(
            try await LoadRecorder.load(URLRequest(url: server.url()), configuring: configure)
                == [.failed(.secureConnectionFailed), .invalid])
        #expect(server.connections.map { $0.clientHello?.versions } == [[0x0304, 0x0303], [0x0304]])
    }

    private func maximumVersion(_ configure: (URLSessionConfiguration) -> Void) async throws {
        let server = try ScriptedServer.answering(.text("x"), tls: try TrustedAuthority.server())
        defer { server.stop() }
        for isSet in [false, true] {
            let recorded = try await LoadRecorder.load(URLRequest(url: server.url())) { if isSet { configure($0) } }
            #expect(recorded == [.response(200), .data("x"), .succeeded, .invalid])
        }
        #expect(server.connections.map { $0.handshake?.version } == ["TLSv1.3", "TLSv1.2"])
        #expect(server.connections.last?.clientHello?.versions.contains(0x0304) == false)
    }

    // MARK: Cookies

    /// The Cookie field of a session with a stored cookie, and the stored cookies of the response.
    private func cookies(
        _ configure: (URLSessionConfiguration) -> Void
    ) async throws -> (sent: String?, kept: [String]) {
        let server = try ScriptedServer.answering(CannedResponse.text("x").with(field: "Set-Cookie", "new=1"))
        defer { server.stop() }
        let storage = HTTPCookieStorage()
        let cookie = HTTPCookie(properties: [.name: "old", .value: "1", .path: "/", .domain: "127.0.0.1"])
        storage.setCookie(try #require(cookie))
        _ = try await LoadRecorder.load(URLRequest(url: server.url())) {
            $0.httpCookieStorage = storage
            configure($0)
        }
        return (server.requests.first?["Cookie"], storage.cookies?.map(\.name) ?? [])
    }

    private func httpCookieStorage() async throws {
        let own = try await cookies { _ in }
        #expect(own == ("old=1", ["old", "new"]))
        let none = try await cookies { $0.httpCookieStorage = nil }
        #expect(none == (nil, ["old"]))
    }

    private func httpShouldSetCookies() async throws {
        let cookies = try await cookies { $0.httpShouldSetCookies = false }
        #expect(cookies == (nil, ["old", "new"]))
    }

    private func httpCookieAcceptPolicy() async throws {
        let cookies = try await cookies { $0.httpCookieAcceptPolicy = .never }
        #expect(cookies == ("old=1", ["old"]))
    }

    // MARK: The rest

    private func httpAdditionalHeaders() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        _ = try await LoadRecorder.load(URLRequest(url: server.url())) { $0.httpAdditionalHeaders = ["X-Row": "24"] }
        #expect(server.requests.map { $0.headText.contains("\r\nX-Row: 24\r\n") } == [true])
    }

    /// Eight loads at once.
    private func httpMaximumConnectionsPerHost() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        try await URLSession.using({ $0.httpMaximumConnectionsPerHost = 1 }) { session in
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<8 { group.addTask { try await session.text(server.url()) } }
                for try await text in group { #expect(text == "x") }
            }
        }
        #expect(server.connectionCount == 1)
        #expect(server.requests.count == 8)
    }

    private func urlCredentialStorage() async throws {
        let basicAuth = BasicAuthResponder()
        let server = try ScriptedServer.answering { basicAuth.answer($0) }
        defer { server.stop() }
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(basicAuth.credential, for: basicAuth.space(server))
        for (storage, status) in [(storage, 200), (nil, 401)] {
            let recorded = try await LoadRecorder.load(URLRequest(url: server.url())) {
                $0.urlCredentialStorage = storage
            }
            #expect(recorded.first == .response(status))
        }
        #expect(server.requests.map { $0["Authorization"] } == [nil, basicAuth.field(), nil])
    }

    private func urlCache() async throws {
        let server = try ScriptedServer.answering(CannedResponse.text("x").with(field: "Cache-Control", "max-age=60"))
        defer { server.stop() }
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        for (cache, requests) in [(cache, 1), (cache, 1), (nil, 2), (nil, 3)] {
            let recorded = try await LoadRecorder.load(URLRequest(url: server.url())) { $0.urlCache = cache }
            #expect(recorded == [.response(200), .data("x"), .succeeded, .invalid])
            #expect(server.requests.count == requests)
        }
        #expect(cache.currentMemoryUsage > 0)
    }

    // C-28: before what loads other requests
    private func protocolClasses() async throws {
        let script = ScriptedProtocol.script { $0.answer("of its own") }
        let recorded = try await LoadRecorder.load(URLRequest(url: script.url())) {
            $0.protocolClasses = [ScriptedProtocol.self]
        }
        #expect(recorded == [.response(200), .data("of its own"), .succeeded, .invalid])
        #expect(try await LoadRecorder.load(script.url()) == [.failed(.unsupportedURL), .invalid])
    }

    private func usesClassicLoadingMode() async throws {
        var options = FTPServer.Options()
        options.files = ["/a.txt": Array("hello".utf8)]
        let server = try FTPServer(options)
        defer { server.stop() }
        for isClassic in [false, true] {
            let recorded = try await LoadRecorder.load(URLRequest(url: server.url("/a.txt"))) {
                $0.usesClassicLoadingMode = isClassic
            }
            #expect(recorded.last == .invalid && recorded.contains(isClassic ? .succeeded : .failed(.unsupportedURL)))
            #expect((server.connectionCount > 0) == isClassic)
        }
    }

    // WS-15
    private func enablesWebSocketCompression() async throws {
        for isEnabled in [false, true] {
            let server = try ScriptedServer.webSocket { try $0.close() }
            defer { server.stop() }
            let configuration = URLSessionConfiguration.ephemeral
            configuration.enablesWebSocketCompression = isEnabled
            let session = URLSession(configuration: configuration)
            defer { session.invalidateAndCancel() }
            let task = session.webSocketTask(with: server.webSocketURL())
            task.resume()
            for try await _ in task.messages {}
            let offer = server.requests.first?["Sec-WebSocket-Extensions"]
            #expect(offer?.hasPrefix("permessage-deflate") == (isEnabled ? true : nil))
        }
    }

    // C-32: the request is out before the handshake of the second connection is over
    private func enablesEarlyData() async throws {
        let server = try GtlsServer(
            files: ["x": Array("x".utf8)], authority: TrustedAuthority.authority, options: ["--timeout=200ms"])
        defer { server.stop() }
        let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/x"))
        let request = URLRequest(url: url).with { $0.assumesHTTP3Capable = true }
        for isEnabled in [false, true] {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.usesClassicLoadingMode = false
            configuration.enablesEarlyData = isEnabled
            let metrics = EarlinessRecorder()
            let session = URLSession(configuration: configuration, delegate: metrics, delegateQueue: nil)
            defer { session.invalidateAndCancel() }
            for _ in 0..<2 {
                #expect(try await session.data(for: request).0 == Data("x".utf8))
                // The server forgets connections that are idle.
                try await eventually {
                    ClientSockets.values(of: SO_TYPE, at: SOL_SOCKET, connectedTo: server.port).isEmpty
                }
            }
            #expect(try await metrics.wasEarly.waitFor(count: 2) == [false, isEnabled])
        }
    }
}

/// Whether requests were sent as early data.
private final class EarlinessRecorder: NSObject, URLSessionTaskDelegate, Sendable {
    let wasEarly = EventRecorder<Bool>()

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        for transaction in metrics.transactionMetrics {
            guard let start = transaction.requestStartDate, let secured = transaction.secureConnectionEndDate else {
                continue
            }
            wasEarly.record(start < secured)
        }
    }
}
