import Foundation
import Glibc
import TestSupport
import Testing
import URLLoading

/// The effect of each request property, one row per property: on the wire, on a store, or in a task's results.
/// Properties without effect must state this in their comments.
@Suite(.leavesNothing) struct RequestTableTests {
    /// The name in the source.
    enum Property: String, CaseIterable, Sendable {
        case url, cachePolicy, timeoutInterval, mainDocumentURL, networkServiceType, allowsCellularAccess
        case allowsExpensiveNetworkAccess, allowsConstrainedNetworkAccess, allowsUltraConstrainedNetworkAccess
        case assumesHTTP3Capable, attribution, requiresDNSSECValidation, allowsPersistentDNS
        case cookiePartitionIdentifier, httpMethod, allHTTPHeaderFields, httpBody, httpBodyStream
        case httpShouldHandleCookies, httpShouldUsePipelining
    }

    private static func declared() throws -> DeclaredProperties {
        try DeclaredProperties(of: "URLRequest", in: "Requests", declaredAs: "public var")
    }

    @Test("no property is without a row") func noPropertyIsWithoutARow() throws {
        // What protocols of the language ask for.
        let conformances: Set = ["description", "debugDescription", "customMirror"]
        #expect(try Self.declared().names.subtracting(conformances) == Set(Property.allCases.map(\.rawValue)))
    }

    // MISC-20, MISC-5, C-4, C-5, C-7, C-9, CONN-7, COOK-14, COOK-21, COOK-24, S-46
    @Test("the effect of each property", arguments: Property.allCases) func theEffectOfEachProperty(property: Property)
        async throws
    {
        try await Self.declared().prove(property.rawValue, by: effect(of: property)) { try await nothing(property) }
    }

    /// The test of the property's effect; nil for a property without effect.
    private func effect(of property: Property) -> (() async throws -> Void)? {
        switch property {
        case .url: url
        case .cachePolicy: cachePolicy
        case .timeoutInterval: timeoutInterval
        case .mainDocumentURL: mainDocumentURL
        case .requiresDNSSECValidation: requiresDNSSECValidation
        case .cookiePartitionIdentifier: cookiePartitionIdentifier
        case .httpMethod: httpMethod
        case .allHTTPHeaderFields: allHTTPHeaderFields
        case .httpBody: httpBody
        case .httpBodyStream: httpBodyStream
        case .httpShouldHandleCookies: httpShouldHandleCookies
        case .networkServiceType: networkServiceType
        case .assumesHTTP3Capable: assumesHTTP3Capable
        case .allowsCellularAccess, .allowsExpensiveNetworkAccess,
            .allowsConstrainedNetworkAccess, .allowsUltraConstrainedNetworkAccess, .attribution,
            .allowsPersistentDNS, .httpShouldUsePipelining:
            nil
        }
    }

    // C-10, C-11, C-20, CONN-20
    private func nothing(_ property: Property) async throws {
        try await NoEffect.onLinux.expect(
            of: property.rawValue, try Self.declared(), change: { set(property, of: &$0) })
    }

    private func set(_ property: Property, of request: inout URLRequest) {
        switch property {
        case .allowsCellularAccess: request.allowsCellularAccess = false
        case .allowsExpensiveNetworkAccess: request.allowsExpensiveNetworkAccess = false
        case .allowsConstrainedNetworkAccess: request.allowsConstrainedNetworkAccess = false
        case .allowsUltraConstrainedNetworkAccess: request.allowsUltraConstrainedNetworkAccess = true
        case .attribution: request.attribution = .user
        case .allowsPersistentDNS: request.allowsPersistentDNS = true
        case .httpShouldUsePipelining: request.httpShouldUsePipelining = true
        default: Issue.record("\(property) is not set")
        }
    }

    /// A changed request, as received by the server.
    private func sent(_ change: (inout URLRequest) -> Void) async throws -> ReceivedRequest {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let recorded = try await LoadRecorder.load(URLRequest(url: server.url()).with(change))
        #expect(recorded == [.response(200), .data("x"), .succeeded, .invalid])
        return try #require(server.requests.first)
    }

    // MARK: Where to, from where, how long

    private func url() async throws {
        #expect(try await sent { $0.url?.append(path: "to/here") }.target == "/to/here")
        var request = URLRequest(url: URL(filePath: "/"))
        request.url = nil
        #expect(try await LoadRecorder.load(request) == [.failed(.unsupportedURL), .invalid])
    }

    private func cachePolicy() async throws {
        #expect(try await sent { $0.cachePolicy = .reloadIgnoringLocalCacheData }["Cache-Control"] == "no-cache")
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with { $0.cachePolicy = .returnCacheDataDontLoad }
        #expect(try await LoadRecorder.load(request) == [.failed(.resourceUnavailable), .invalid])
        #expect(server.connectionCount == 0)
    }

    private func timeoutInterval() async throws {
        let server = try ScriptedServer(steps: [.stopReading])
        defer { server.stop() }
        let request = URLRequest(url: server.url()).with { $0.timeoutInterval = 0.05 }
        #expect(try await LoadRecorder.load(request) == [.failed(.timedOut), .invalid])
    }

    // C-9: lower effort (RFC 8622), on a connection of its own
    private func networkServiceType() async throws {
        let server = try ScriptedServer.answering(.text("x"))
        defer { server.stop() }
        let session = URLSession { _ in }
        defer { session.invalidateAndCancel() }
        for type in [URLRequest.NetworkServiceType.default, .background, .background] {
            _ = try await session.data(for: URLRequest(url: server.url()).with { $0.networkServiceType = type })
        }
        let classes = ClientSockets.values(of: IP_TOS, at: Int32(IPPROTO_IP), connectedTo: server.port)
        #expect(classes.sorted() == [0, 1 << 2])
    }

    // CONN-7: a datagram comes to the server's port, and without an answer the load goes over TCP
    private func assumesHTTP3Capable() async throws {
        guard HTTP3Build.isAvailable else { return }
        let server = try ScriptedServer.answering(tls: TrustedAuthority.server()) { _ in .text("x") }
        defer { server.stop() }
        let datagrams = try SilentDatagramPort(server.port)
        defer { datagrams.close() }
        for isAssumed in [false, true] {
            let request = URLRequest(url: server.url()).with { $0.assumesHTTP3Capable = isAssumed }
            #expect(try await LoadRecorder.load(request) == [.response(200), .data("x"), .succeeded, .invalid])
            #expect(datagrams.hasReceived == isAssumed)
        }
    }

    private func requiresDNSSECValidation() async throws {
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let name = try #require(URL(string: "http://name.invalid/"))
        session.dataTask(with: URLRequest(url: name).with { $0.requiresDNSSECValidation = true }).resume()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid().failure == .cannotFindHost)
        // No name server was asked.
        let transaction = try #require(delegate.metrics.events.first?.transactionMetrics.first)
        #expect(transaction.domainLookupStartDate == nil)
    }

    // MARK: Cookies

    /// The Cookie field of a request with two stored cookies, and the stored cookies of the response.
    private func cookies(_ change: (inout URLRequest) -> Void) async throws -> (sent: String?, kept: [String]) {
        let server = try ScriptedServer.answering(CannedResponse.text("x").with(field: "Set-Cookie", "new=1"))
        defer { server.stop() }
        let storage = HTTPCookieStorage()
        for (name, policy) in [("strict", HTTPCookieStringPolicy.sameSiteStrict), ("any", nil)] {
            var properties: [HTTPCookiePropertyKey: Any] = [
                .name: name, .value: "1", .path: "/", .domain: "127.0.0.1",
            ]
            properties[.sameSitePolicy] = policy
            storage.setCookie(try #require(HTTPCookie(properties: properties)))
        }
        _ = try await LoadRecorder.load(URLRequest(url: server.url()).with(change)) { $0.httpCookieStorage = storage }
        return (server.requests.first?["Cookie"], storage.cookies?.map(\.name) ?? [])
    }

    private func mainDocumentURL() async throws {
        let without = try await cookies { _ in }
        #expect(without == ("strict=1; any=1", ["strict", "any", "new"]))
        let foreign = try await cookies { $0.mainDocumentURL = URL(string: "http://example.com/") }
        #expect(foreign == ("any=1", ["strict", "any"]))
    }

    private func cookiePartitionIdentifier() async throws {
        // The new one is in the jar that has a name.
        let cookies = try await cookies { $0.cookiePartitionIdentifier = "own" }
        #expect(cookies == (nil, ["strict", "any"]))
    }

    private func httpShouldHandleCookies() async throws {
        let cookies = try await cookies { $0.httpShouldHandleCookies = false }
        #expect(cookies == (nil, ["strict", "any"]))
    }

    // MARK: The head, and bodies

    private func httpMethod() async throws {
        #expect(try await sent { $0.httpMethod = "DELETE" }.headText.hasPrefix("DELETE / HTTP/1.1\r\n"))
    }

    private func allHTTPHeaderFields() async throws {
        let request = try await sent { $0.allHTTPHeaderFields = ["X-Row": "1"] }
        #expect(request.headText.contains("\r\nX-Row: 1\r\n"))
    }

    private func httpBody() async throws {
        let request = try await sent {
            $0.httpMethod = "PUT"
            $0.httpBody = Data("hello".utf8)
        }
        #expect(request["Content-Length"] == "5")
        #expect(request.rawBody == Array("hello".utf8))
    }

    private func httpBodyStream() async throws {
        let request = try await sent {
            $0.httpMethod = "PUT"
            $0.httpBodyStream = InputStream(data: Data("hello".utf8))
        }
        #expect(request["Transfer-Encoding"] == "chunked")
        #expect(request.bodyText == "hello")
    }
}
