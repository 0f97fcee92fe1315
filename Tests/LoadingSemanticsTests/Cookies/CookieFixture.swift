import LoadingSemantics
import Testing

/// A jar with a small list of public suffixes, and shorthands.
struct CookieFixture {
    let jar: JarReference
    var now = 1_000_000.0

    init(limits: CookieLimits = CookieLimits()) {
        jar = JarReference(suffixes: PublicSuffixes { ["co.uk", "github.io"].contains($0) }, limits: limits)
    }

    /// Nil if the cookie was taken, or was there no more to take.
    mutating func set(
        _ field: String, _ address: String, document: String? = nil, isNavigation: Bool = false,
        partition: String? = nil, policy: CookieAcceptPolicy = .always
    ) throws -> CookieRefusal? {
        let request = try request(
            address, document: document, isNavigation: isNavigation, method: "GET", partition: partition)
        guard case .refused(let refusal) = jar.receive(field, from: request, policy: policy, at: now) else {
            return nil
        }
        return refusal
    }

    /// The `Cookie` field of a request.
    mutating func field(
        _ address: String, document: String? = nil, isNavigation: Bool = false, method: String = "GET",
        partition: String? = nil
    ) throws -> String? {
        let request = try request(
            address, document: document, isNavigation: isNavigation, method: method, partition: partition)
        return Cookie.field(jar.cookies(for: request, at: now))
    }

    /// Why which cookies are not in that field.
    func exclusions(_ address: String, document: String? = nil) throws -> [String] {
        let request = try request(address, document: document, isNavigation: false, method: "GET", partition: nil)
        return jar.excludedCookies(for: request, at: now).map { "\($0.cookie.name) \($0.exclusion)" }
    }

    private func request(
        _ address: String, document: String?, isNavigation: Bool, method: String, partition: String?
    ) throws -> CookieRequest {
        CookieRequest(
            try HTTPURL(address), method: method, document: try document.map { .web(try HTTPURL($0)) } ?? .none,
            isTopLevelNavigation: isNavigation, partition: partition)
    }
}
