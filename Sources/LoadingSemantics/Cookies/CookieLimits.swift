/// The capacity of a cookie jar (RFC 6265bis §6.1).
///
/// Eviction removes about a tenth at once, so that it does not run for every cookie.
package struct CookieLimits: Sendable, Equatable {
    /// The number of cookies of one site, which includes all subdomains, so that a server cannot evade the limit with
    /// made-up host names.
    package let site: Int
    /// The total number of cookies.
    package let total: Int

    package init(site: Int = 180, total: Int = 3300) {
        self.site = max(site, 1)
        self.total = max(total, 1)
    }

    /// The number of cookies of a site after eviction.
    package var siteAfterwards: Int { site - max(site / 6, 1) }
    /// The total number of cookies after eviction.
    package var totalAfterwards: Int { total - max(total / 11, 1) }
}
