internal import FoundationEssentials
internal import Glibc
package import LoadingSemantics

/// Cookies in memory. Confined to the loop of its loads.
package final class MemoryCookieStore: CookieStore {
    private var jar: CookieJar
    private let policy: CookieAcceptPolicy

    package init(suffixes: PublicSuffixes = .topLevelDomains, policy: CookieAcceptPolicy = .always) {
        jar = CookieJar(suffixes: suffixes)
        self.policy = policy
    }

    package func cookies(for load: HTTPLoad) -> ClientAnswer<String?> {
        guard usesCookies(load), !jar.isEmpty else { return .now(nil) }
        return .now(Cookie.field(jar.cookies(for: request(load), at: Self.now)))
    }

    package func receive(_ fields: [String], for load: HTTPLoad) {
        guard usesCookies(load) else { return }
        for field in fields { _ = jar.receive(field, from: request(load), policy: policy, at: Self.now) }
    }

    private func usesCookies(_ load: HTTPLoad) -> Bool { (load.client as? Transfer)?.request.usesCookies ?? true }

    private func request(_ load: HTTPLoad) -> CookieRequest {
        CookieRequest(load.request.url, method: load.request.method, partition: load.request.partition)
    }

    private static var now: Double { Double(time(nil)) }
}

/// Credentials in memory, one for each space. Confined to the loop of its loads.
package final class MemoryCredentialStore: CredentialStore {
    private var credentials: [ProtectionSpace: LoadCredential] = [:]

    package init() {}

    package subscript(space: ProtectionSpace) -> LoadCredential? {
        get { credentials[space] }
        set { credentials[space] = newValue }
    }

    package func defaultCredential(
        for space: ProtectionSpace, of client: any LoadClient, _ lookup: PendingLookup<ProposedCredential?>
    ) -> ClientAnswer<ProposedCredential?> {
        .now(credentials[space].map { ProposedCredential(user: $0.user, password: $0.password) })
    }

    package func store(_ credential: LoadCredential, for space: ProtectionSpace, of client: any LoadClient) {
        credentials[space] = credential
    }

    package func mayUse(_ credential: LoadCredential, for space: ProtectionSpace) -> Bool {
        credentials[space].map { $0.user == credential.user && $0.password == credential.password } ?? false
    }
}

/// Cached responses in memory, up to a number of bytes. The least recently used one is removed first. Confined to the
/// loop of its loads.
package final class MemoryResponseStore: ResponseStore {
    private let capacity: Int64
    private var entries: [String: (entry: CacheEntry, use: UInt64)] = [:]
    private var size: Int64 = 0
    private var useCount: UInt64 = 0

    package init(capacity: Int64) { self.capacity = capacity }

    package subscript(key: CacheKey) -> CacheEntry? {
        get { entries[key.text]?.entry }
        set { replace(with: newValue, for: key) }
    }

    package func contents(for load: HTTPLoad) -> ClientAnswer<CacheContents?> {
        let method = load.request.method
        guard method == "GET" || method == "HEAD", let key = load.request.cacheKey else {
            return .now(CacheContents(entry: nil, limit: 0))
        }
        let ignoresStored = load.request.cachePolicy.ignoresStored
        let entry = ignoresStored ? nil : use(key.text)
        return .now(CacheContents(entry: entry, limit: capacity / 20, isLookedUp: !ignoresStored))
    }

    package func store(
        _ entry: CacheEntry?, of load: HTTPLoad, since changeCount: UInt64, for client: any LoadClient
    ) -> ClientAnswer<Void> {
        if let key = load.request.cacheKey { replace(with: entry, for: key) }
        return .now
    }

    package func store(redirect entry: CacheEntry, of load: HTTPLoad) {
        if let key = load.request.cacheKey { replace(with: entry, for: key) }
    }

    package func update(_ entry: CacheEntry, of load: HTTPLoad) {
        if let key = load.request.cacheKey, entries[key.text] != nil { replace(with: entry, for: key) }
    }

    package func remove(_ keys: [CacheKey], of load: HTTPLoad) { for key in keys { replace(with: nil, for: key) } }

    private func use(_ key: String) -> CacheEntry? {
        useCount += 1
        entries[key]?.use = useCount
        return entries[key]?.entry
    }

    private func replace(with entry: CacheEntry?, for key: CacheKey) {
        size -= entries.removeValue(forKey: key.text).map { Int64($0.entry.body.count) } ?? 0
        guard let entry, Int64(entry.body.count) <= capacity else { return }
        useCount += 1
        entries[key.text] = (entry, useCount)
        size += Int64(entry.body.count)
        while size > capacity, let oldest = entries.min(by: { $0.value.use < $1.value.use }) {
            entries[oldest.key] = nil
            size -= Int64(oldest.value.entry.body.count)
        }
    }
}
