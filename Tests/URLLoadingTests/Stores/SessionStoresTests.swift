import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// The effects of `flush` and `reset` on a session's stores.
@Suite(.leavesNothing) struct SessionStoresTests {
    private let directory: TemporaryDirectory
    private let place: StorageDirectory
    private let server: ScriptedServer
    private let space = URLProtectionSpace(
        host: "example.org", port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: "r",
        authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    private let password = URLCredential("me", "secret", .permanent)

    init() throws {
        directory = try TemporaryDirectory()
        place = StorageDirectory(path: directory.path + "/store")
        server = try ScriptedServer.answering { request in
            let response = CannedResponse.text("hello")
            return request.path == "/set"
                ? response.with(field: "Cache-Control", "no-store")
                    .with(field: "Set-Cookie", "persistent=1; Max-Age=3600").with(field: "Set-Cookie", "passing=1")
                : response.with(field: "Cache-Control", "max-age=3600")
        }
    }

    private var cookies: HTTPCookieStorage { HTTPCookieStorage(in: place) }

    private var credentials: URLCredentialStorage { URLCredentialStorage(in: place) }

    private var cache: URLCache {
        URLCache(memoryCapacity: 1 << 20, diskCapacity: 10 << 20, directory: directory.file("cache"))
    }

    /// A session with these stores, or with ephemeral ones.
    private func session(isEphemeral: Bool = false) -> URLSession {
        if isEphemeral { return URLSession(configuration: .ephemeral) }
        let configuration = URLSessionConfiguration.default
        configuration.httpCookieStorage = cookies
        configuration.urlCredentialStorage = credentials
        configuration.urlCache = cache
        return URLSession(configuration: configuration)
    }

    /// The stored cookies, user and body.
    private func held(
        _ cookies: HTTPCookieStorage?, _ credentials: URLCredentialStorage?, _ cache: URLCache?
    ) -> [String] {
        var held = (cookies?.cookies ?? []).map(\.name).sorted()
        if let user = credentials?.defaultCredential(for: space)?.user { held.append(user) }
        if let response = cache?.cachedResponse(for: URLRequest(url: server.url("/kept"))) {
            held.append(String(decoding: response.data, as: UTF8.self))
        }
        return held
    }

    private func held(_ session: URLSession) -> [String] {
        let configuration = session.configuration
        return held(configuration.httpCookieStorage, configuration.urlCredentialStorage, configuration.urlCache)
    }

    private func fill(_ session: URLSession) async throws {
        for path in ["/set", "/kept"] { _ = try await session.data(from: server.url(path)) }
        session.configuration.urlCredentialStorage?.setDefaultCredential(password, for: space)
    }

    // S-88, S-89, COOK-19, AUTH-21, CACHE-28
    @Test("a flush leaves all that lasts in files, and a reset nothing, neither there nor in the session")
    func persistent() async throws {
        defer { server.stop() }
        let session = session()
        defer { session.finishTasksAndInvalidate() }
        try await fill(session)
        #expect(held(session) == ["passing", "persistent", "me", "hello"])
        await session.flush()
        #expect(held(cookies, credentials, cache) == ["persistent", "me", "hello"])
        #expect(held(session) == ["passing", "persistent", "me", "hello"])
        await session.reset()
        #expect(held(session) == [])
        #expect(held(cookies, credentials, cache) == [])
        // All is asked for anew.
        _ = try await session.data(from: server.url("/kept"))
        #expect(server.requests.map { $0["Cookie"] } == [nil, "persistent=1; passing=1", nil])
    }

    // S-89, S-18
    @Test("a reset leaves nothing in an ephemeral session") func ephemeral() async throws {
        defer { server.stop() }
        let session = session(isEphemeral: true)
        defer { session.finishTasksAndInvalidate() }
        try await fill(session)
        await session.flush()
        #expect(held(session) == ["passing", "persistent", "me", "hello"])
        await session.reset()
        #expect(held(session) == [])
        _ = try await session.data(from: server.url("/kept"))
        #expect(server.requests.map { $0["Cookie"] } == [nil, "persistent=1; passing=1", nil])
    }

    // S-88
    @Test("a flush waits until cookies and passwords are written", arguments: [false, true])
    func waiting(isPassword: Bool) async throws {
        server.stop()
        let flushed = EventRecorder<[String]>()
        let configuration = URLSessionConfiguration.ephemeral
        let cookieRecords = ScriptedRecordStore<Cookie>([])
        let credentialRecords = ScriptedRecordStore<PersistentCredential>([])
        if isPassword {
            credentialRecords.block(.apply)
            let storage = URLCredentialStorage(unlessEmpty: { false }, recordStore: { credentialRecords })
            storage.setDefaultCredential(password, for: space)
            configuration.urlCredentialStorage = storage
            try await credentialRecords.wait(for: .apply)
        } else {
            cookieRecords.block(.apply)
            let storage = HTTPCookieStorage(unlessEmpty: { false }, recordStore: { cookieRecords })
            let cookie = HTTPCookie(properties: [
                .name: "persistent", .value: "1", .domain: "example.org", .path: "/", .expires: Date.distantFuture,
            ])
            storage.setCookie(try #require(cookie))
            configuration.httpCookieStorage = storage
            try await cookieRecords.wait(for: .apply)
        }
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        session.flush { flushed.record(cookieRecords.kept.map(\.name) + credentialRecords.kept.map(\.user)) }
        // What is called without waiting has been called by then.
        _ = await session.allTasks
        #expect(flushed.events == [])
        cookieRecords.unblock(.apply)
        credentialRecords.unblock(.apply)
        #expect(try await flushed.waitFor(count: 1) == [[isPassword ? "me" : "persistent"]])
    }
}
