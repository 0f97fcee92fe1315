/// How many cookies a jar holds (RFC 6265bis §6.1).
///
/// Where one more would be too many, a tenth or so goes at once, so that room need not be made for every cookie.
package struct CookieLimits: Sendable, Equatable {
    /// Of one site: a domain and all below it, so that a server gains nothing by making up names.
    package let site: Int
    /// In all.
    package let total: Int

    package init(site: Int = 180, total: Int = 3300) {
        self.site = max(site, 1)
        self.total = max(total, 1)
    }

    /// How many of a site's are left when room has been made.
    package var siteAfterwards: Int { site - max(site / 6, 1) }
    /// How many are left in all when room has been made.
    package var totalAfterwards: Int { total - max(total / 11, 1) }
}
