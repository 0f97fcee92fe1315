/// How many hosts are remembered. The RFC has no limit, but a server with a wildcard certificate has as many hosts as
/// it likes.
///
/// Where one more would be too many, a tenth or so goes at once, so that room need not be made for every host.
package struct HSTSLimits: Sendable, Equatable {
    /// Of one site: a domain and all below it, so that a server can only push out its own.
    package let site: Int
    /// In all.
    package let total: Int

    package init(site: Int = 120, total: Int = 10_000) {
        self.site = max(site, 1)
        self.total = max(total, 1)
    }

    /// How many of a site's are left when room has been made.
    var siteAfterwards: Int { site - max(site / 6, 1) }
    /// How many are left in all when room has been made.
    var totalAfterwards: Int { total - max(total / 11, 1) }
}
