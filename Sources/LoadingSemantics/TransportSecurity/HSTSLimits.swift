/// The capacity of `HSTSHosts`. RFC 6797 has no limit, but a server with a wildcard certificate can have any number of
/// hosts.
///
/// Eviction removes about a tenth at once, so that it does not run for every host.
package struct HSTSLimits: Sendable, Equatable {
    /// The number of hosts of one site, so that a server can evict only its own.
    package let site: Int
    /// The total number of hosts.
    package let total: Int

    package init(site: Int = 120, total: Int = 10_000) {
        self.site = max(site, 1)
        self.total = max(total, 1)
    }

    /// The number of hosts of a site after eviction.
    var siteAfterwards: Int { site - max(site / 6, 1) }
    /// The total number of hosts after eviction.
    var totalAfterwards: Int { total - max(total / 11, 1) }
}
