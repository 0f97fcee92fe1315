import Foundation
import TestSupport
import Testing
import URLLoading

/// Which values a session copies from its configuration, and when.
@Suite(.leavesNothing) struct ConfigurationTests {
    // C-1
    @Test("each standard configuration is new") func eachStandardConfigurationIsNew() {
        #expect(URLSessionConfiguration.default !== URLSessionConfiguration.default)
        #expect(URLSessionConfiguration.ephemeral !== URLSessionConfiguration.ephemeral)
        let changed = URLSessionConfiguration.default
        changed.timeoutIntervalForRequest = 1
        #expect(URLSessionConfiguration.default.timeoutIntervalForRequest == 60)
    }

    // C-3, C-5, C-6, C-8, C-10, C-11, C-13, C-20, C-21, C-23, C-24
    @Test("standard values") func standardValues() {
        for configuration in [URLSessionConfiguration.default, .ephemeral] {
            #expect(configuration.identifier == nil)
            #expect(configuration.requestCachePolicy == .useProtocolCachePolicy)
            #expect(configuration.timeoutIntervalForRequest == 60)
            #expect(configuration.timeoutIntervalForResource == 604_800)
            #expect(configuration.httpMaximumConnectionsPerHost == 6)
            #expect(configuration.httpAdditionalHeaders == nil)
            #expect(configuration.httpShouldSetCookies)
            #expect(!configuration.httpShouldUsePipelining)
            #expect(!configuration.waitsForConnectivity)
            #expect(configuration.allowsCellularAccess)
            #expect(configuration.allowsExpensiveNetworkAccess)
            #expect(configuration.allowsConstrainedNetworkAccess)
        }
    }

    // S-26, C-1
    @Test("a session keeps the values it was made with") func aSessionKeepsTheValuesItWasMadeWith() async throws {
        let server = try ScriptedServer.answering { .text($0["X-Mark"] ?? "none") }
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["X-Mark": "before"]
        let session = URLSession(configuration: configuration)
        configuration.httpAdditionalHeaders = ["X-Mark": "after"]
        configuration.timeoutIntervalForRequest = 0.001
        #expect(try await session.data(from: server.url()).0 == Data("before".utf8))
        session.invalidateAndCancel()
    }

    // S-27
    @Test("a session shows a copy") func aSessionShowsACopy() async throws {
        let server = try ScriptedServer.answering { .text($0["X-Mark"] ?? "none") }
        defer { server.stop() }
        let session = URLSession { $0.httpAdditionalHeaders = ["X-Mark": "before"] }
        let shown = session.configuration
        #expect(shown !== session.configuration)
        #expect(shown.httpAdditionalHeaders as? [String: String] == ["X-Mark": "before"])
        shown.httpAdditionalHeaders = ["X-Mark": "after"]
        #expect(session.configuration.httpAdditionalHeaders as? [String: String] == ["X-Mark": "before"])
        #expect(try await session.data(from: server.url()).0 == Data("before".utf8))
        session.invalidateAndCancel()
    }

    // S-86, C-34
    @Test("a copy is independent, its stores are the same") func aCopyIsIndependentItsStoresAreTheSame() throws {
        let original = URLSessionConfiguration.ephemeral
        original.timeoutIntervalForRequest = 5
        let copy = try #require(original.copy() as? URLSessionConfiguration)
        copy.timeoutIntervalForRequest = 7
        #expect(original.timeoutIntervalForRequest == 5)
        #expect(copy !== original)
        #expect(copy.urlCache === original.urlCache)
        #expect(copy.httpCookieStorage === original.httpCookieStorage)
        #expect(copy.urlCredentialStorage === original.urlCredentialStorage)
    }

    private final class Stores: @unchecked Sendable {
        // Sendable: set once, before any wait.
        weak var cookies: HTTPCookieStorage?
        weak var cache: URLCache?
        weak var credentials: URLCredentialStorage?

        var areGone: Bool { cookies == nil && cache == nil && credentials == nil }
    }

    // S-19, COOK-26, CACHE-29
    @Test("the stores of an ephemeral session go with it") func theStoresOfAnEphemeralSessionGoWithIt() async throws {
        let server = try ScriptedServer.answering(
            CannedResponse.text("x").with(field: "Set-Cookie", "a=b").with(field: "Cache-Control", "max-age=60"))
        defer { server.stop() }
        let stores = Stores()
        do {
            let session = URLSession(configuration: .ephemeral)
            let configuration = session.configuration
            stores.cookies = configuration.httpCookieStorage
            stores.cache = configuration.urlCache
            stores.credentials = configuration.urlCredentialStorage
            _ = try await session.data(from: server.url())
            #expect(configuration.httpCookieStorage?.cookies?.count == 1)
            #expect((configuration.urlCache?.currentMemoryUsage ?? 0) > 0)
            #expect(!stores.areGone)
            session.invalidateAndCancel()
        }
        try await eventually { stores.areGone }
    }

    // C-23
    @Test("additional fields are sent, a request's own win in any case")
    func additionalFieldsAreSentARequestsOwnWinInAnyCase() async throws {
        let server = try ScriptedServer.answering { request in
            .text(
                ["x-one", "x-two", "x-three"].map { request.values(of: $0).joined(separator: "+") }.joined(
                    separator: ","))
        }
        defer { server.stop() }
        let session = URLSession { $0.httpAdditionalHeaders = ["X-One": "1", "X-Two": "2"] }
        var request = URLRequest(url: server.url())
        request.setValue("own", forHTTPHeaderField: "x-two")
        request.setValue("3", forHTTPHeaderField: "X-Three")
        #expect(try await session.data(for: request).0 == Data("1,own,3".utf8))
        session.invalidateAndCancel()
    }

    // C-23, T-12: the current request is what is sent
    @Test("the current request shows additional fields", arguments: [false, true])
    func theCurrentRequestShowsAdditionalFields(isRedirected: Bool) async throws {
        let other = try ScriptedServer.answering(.text("end"))
        defer { other.stop() }
        let server = try ScriptedServer.answering { _ in
            isRedirected ? .redirect(to: other.url("/").absoluteString) : .text("x")
        }
        defer { server.stop() }
        let session = URLSession {
            $0.httpAdditionalHeaders = ["Authorization": "Basic x", "X-One": "1", "x-two": "2"]
        }
        var request = URLRequest(url: server.url())
        request.setValue("own", forHTTPHeaderField: "X-Two")
        let recorder = EventRecorder<Int?>()
        let task = session.dataTask(with: request) { _, response, _ in
            recorder.record((response as? HTTPURLResponse)?.statusCode)
        }
        #expect(task.currentRequest?.allHTTPHeaderFields == ["X-Two": "own"])
        task.resume()
        #expect(try await recorder.waitFor(count: 1) == [200])
        // Those that a redirect to another origin removes are not sent.
        let secret: [String: String] = isRedirected ? [:] : ["Authorization": "Basic x"]
        let expected = ["X-One": "1", "X-Two": "own"].merging(secret) { $1 }
        #expect(task.currentRequest?.allHTTPHeaderFields == expected)
        #expect(task.originalRequest?.allHTTPHeaderFields == ["X-Two": "own"])
        #expect(task.currentRequest?.url?.port == Int(isRedirected ? other.port : server.port))
        session.invalidateAndCancel()
    }

    // C-23, law 2: what cannot be sent does not break the message
    @Test("additional fields that would break a message are left out")
    func additionalFieldsThatWouldBreakAMessageAreLeftOut() async throws {
        let server = try ScriptedServer.answering { request in
            .text(request.fields.map(\.name).filter { $0.hasPrefix("X-") || $0.hasPrefix("Evil") }.sorted().joined())
        }
        defer { server.stop() }
        let session = URLSession {
            $0.httpAdditionalHeaders = ["X-Good": "1", "X-Bad": "a\r\nEvil: b", "X Y": "c", "": "d", 5: "e"]
        }
        #expect(try await session.data(from: server.url()).0 == Data("X-Good".utf8))
        session.invalidateAndCancel()
    }

    // C-23: they override what the library would send
    @Test("additional fields replace standard ones") func additionalFieldsReplaceStandardOnes() async throws {
        let server = try ScriptedServer.answering { .text($0.values(of: "Accept").joined(separator: "+")) }
        defer { server.stop() }
        let session = URLSession { $0.httpAdditionalHeaders = ["accept": "text/x"] }
        #expect(try await session.data(from: server.url()).0 == Data("text/x".utf8))
        session.invalidateAndCancel()
    }

    #if compiler(>=6.2)
        // C-2, S-21
        @Test("a background identifier must not be empty") func aBackgroundIdentifierMustNotBeEmpty() async {
            await #expect(processExitsWith: .signal(SIGILL)) {
                _ = URLSessionConfiguration.background(withIdentifier: "")
            }
        }
    #endif
}
