import Foundation
import LoadingSemantics

@testable import LoadingPipeline

/// The cookies of a session, in memory.
final class MemoryCookieStore: CookieStore {
    private var jar = CookieJar()

    func cookies(for load: HTTPLoad) -> ClientAnswer<String?> {
        guard usesCookies(load), !jar.isEmpty else { return .now(nil) }
        return .now(Cookie.field(jar.cookies(for: request(load), at: Self.now)))
    }

    func receive(_ fields: [String], for load: HTTPLoad) {
        guard usesCookies(load) else { return }
        for field in fields { _ = jar.receive(field, from: request(load), policy: .always, at: Self.now) }
    }

    private func usesCookies(_ load: HTTPLoad) -> Bool { (load.client as? Transfer)?.request.usesCookies ?? true }

    private func request(_ load: HTTPLoad) -> CookieRequest {
        CookieRequest(load.request.url, method: load.request.method, partition: load.request.partition)
    }

    private static var now: Double { Date().timeIntervalSince1970 }
}

/// The credentials of a session, in memory: one for each space.
final class MemoryCredentialStore: CredentialStore {
    private var credentials: [ProtectionSpace: LoadCredential] = [:]

    subscript(space: ProtectionSpace) -> LoadCredential? {
        get { credentials[space] }
        set { credentials[space] = newValue }
    }

    func defaultCredential(
        for space: ProtectionSpace, of client: any LoadClient, _ lookup: PendingLookup<ProposedCredential?>
    ) -> ClientAnswer<ProposedCredential?> {
        .now(credentials[space].map { ProposedCredential(user: $0.user, password: $0.password) })
    }

    func store(_ credential: LoadCredential, for space: ProtectionSpace, of client: any LoadClient) {
        credentials[space] = credential
    }

    func mayUse(_ credential: LoadCredential, for space: ProtectionSpace) -> Bool {
        credentials[space].map { $0.user == credential.user && $0.password == credential.password } ?? false
    }
}

/// The cached responses of a session, in memory.
final class MemoryResponseStore: ResponseStore {
    private var entries: [String: CacheEntry] = [:]

    subscript(key: CacheKey) -> CacheEntry? {
        get { entries[key.text] }
        set { entries[key.text] = newValue }
    }

    func contents(for load: HTTPLoad) -> ClientAnswer<CacheContents?> {
        let method = load.request.method
        guard method == "GET" || method == "HEAD", let key = load.request.cacheKey else {
            return .now(CacheContents(entry: nil, limit: 0))
        }
        let ignoresStored = load.request.cachePolicy.ignoresStored
        return .now(CacheContents(entry: ignoresStored ? nil : self[key], limit: 1 << 16, isLookedUp: !ignoresStored))
    }

    func store(
        _ entry: CacheEntry?, of load: HTTPLoad, since changeCount: UInt64, for client: any LoadClient
    ) -> ClientAnswer<Void> {
        if let key = load.request.cacheKey { self[key] = entry }
        return .now
    }

    func store(redirect entry: CacheEntry, of load: HTTPLoad) {
        if let key = load.request.cacheKey { self[key] = entry }
    }

    func update(_ entry: CacheEntry, of load: HTTPLoad) {
        if let key = load.request.cacheKey, self[key] != nil { self[key] = entry }
    }

    func remove(_ keys: [CacheKey], of load: HTTPLoad, since changeCount: UInt64?) {
        for key in keys { self[key] = nil }
    }
}
