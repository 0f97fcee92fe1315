import LoadingSemantics

/// HSTS hosts with a small list of public suffixes, behind a reference, because `#expect` cannot mutate a value.
final class HSTSFixture {
    private var hosts: HSTSHosts
    var now: Int64 = 1_000_000

    init(preload: HSTSPreload = HSTSPreload(), limits: HSTSLimits = HSTSLimits()) {
        hosts = HSTSHosts(
            suffixes: PublicSuffixes { ["co.uk", "github.io"].contains($0) }, preload: preload, limits: limits)
    }

    var count: Int { hosts.count }
    var known: [String] { hosts.all(at: now).map(\.host).sorted() }

    func note(_ field: String?, _ address: String, isTrusted: Bool = true) throws -> HSTSOutcome {
        let fields = HTTPFields(field.map { [("Strict-Transport-Security", $0)] } ?? [])
        return hosts.note(fields, from: try HTTPURL(address), isTrusted: isTrusted, at: now)
    }

    func insert(_ host: String, expires: Int64, includesSubdomains: Bool = false) -> HSTSOutcome {
        hosts.insert(HSTSRecord(host: host, expires: expires, includesSubdomains: includesSubdomains), at: now)
    }

    func covers(_ host: String) -> Bool { hosts.covers(host, at: now) }

    /// The upgraded URL, or nil if it is unchanged.
    func upgrade(_ url: String) -> String? {
        guard let parsed = try? HTTPURL(url), !parsed.scheme.isSecure, covers(parsed.host) else { return nil }
        return SecureURL.upgrade(url, port: parsed.port)
    }

    func remove(_ host: String) -> Bool { hosts.remove(host) }
    func removeExpired() -> [String] { hosts.removeExpired(at: now) }
    func removeAll() { hosts.removeAll() }
}
