/// The Public Suffix List: domains under which unrelated parties register names, such as `com` and `co.uk`. No cookie
/// may be set for one.
///
/// The list itself is a closure. A single label counts as a public suffix in any case, so without a list at least
/// top-level domains are protected.
package struct PublicSuffixes: Sendable {
    /// A list that is loaded on demand.
    package struct Reading: Sendable {
        let isDone: @Sendable () -> Bool
        let whenDone: @Sendable (@escaping @Sendable () -> Void) -> Void
        let wait: @Sendable () -> Void

        /// - Parameters:
        ///   - isDone: Whether the list is loaded, or loading has failed.
        ///   - whenDone: Starts loading and calls back when it is done, in the order of the calls; at once if it is
        ///     done already.
        ///   - wait: Loads the list and returns when it is done.
        package init(
            isDone: @escaping @Sendable () -> Bool,
            whenDone: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
            wait: @escaping @Sendable () -> Void
        ) {
            self.isDone = isDone
            self.whenDone = whenDone
            self.wait = wait
        }
    }

    private let isListed: @Sendable (String) -> Bool
    private let reading: Reading?

    /// - Parameters:
    ///   - reading: Nil for a list that is already loaded.
    ///   - isListed: Whether a domain of two or more labels is a public suffix. The domain is lower-case ASCII without
    ///     a final dot; a server chooses its labels.
    package init(_ reading: Reading? = nil, _ isListed: @escaping @Sendable (String) -> Bool) {
        self.reading = reading
        self.isListed = isListed
    }

    /// Whether the site of a host can be determined without waiting for the list.
    package func isLoaded(for host: String) -> Bool {
        guard let reading else { return true }
        return reading.isDone() || CookieDomain.isAddress(host) || !host.utf8.contains(UInt8(ascii: "."))
    }

    /// Waits until the sites of the hosts can be determined. Called before a lock is taken, so that threads do not wait
    /// for the disk behind that lock.
    package func waitUntilLoaded(for hosts: [String]) {
        if let reading, !hosts.allSatisfy({ isLoaded(for: $0) }) { reading.wait() }
    }

    /// Waits until all sites can be determined.
    package func waitUntilLoaded() {
        if let reading, !reading.isDone() { reading.wait() }
    }

    /// Calls back when all sites can be determined, at once or on another thread.
    package func whenLoaded(_ body: @escaping @Sendable () -> Void) {
        if let reading { reading.whenDone(body) } else { body() }
    }

    /// No list.
    package static let topLevelDomains = PublicSuffixes { _ in false }

    /// The unit by which cookies are grouped and limited.
    package struct Site: Sendable, Equatable {
        /// The registrable domain: one label more than the longest public suffix. A public suffix, an IP address, or a
        /// name of one label is its own site.
        package var name: String
        /// Whether the site is a public suffix, so that its subdomains belong to other parties.
        package var isSuffix: Bool
    }

    /// The site of a host. Without waiting for the list: while that is loading, the last two labels.
    package func siteWithoutWaiting(of host: String) -> Site {
        isLoaded(for: host) ? site(of: host) : Self.topLevelDomains.site(of: host)
    }

    /// In octets, with a final dot.
    private static let longestName = 254

    /// The site of a host. Waits while the list is loading.
    package func site(of host: String) -> Site {
        if CookieDomain.isAddress(host) { return Site(name: host, isSuffix: false) }
        // No name of DNS (RFC 1035 §2.3.4). Each of its labels would cost as much as its length.
        if host.utf8.count > Self.longestName { return Site(name: host, isSuffix: false) }
        if contains(host) { return Site(name: host, isSuffix: true) }
        var site = host[...]
        // A name without a dot is a public suffix, so the loop ends.
        while let dot = site.utf8.firstIndex(of: UInt8(ascii: ".")) {
            let rest = site[site.utf8.index(after: dot)...]
            if contains(String(rest)) { break }
            site = rest
        }
        return Site(name: String(site), isSuffix: false)
    }

    /// Whether both URLs are same-site, including the scheme (RFC 6265bis §5.2).
    package func areSameSite(_ left: HTTPURL, _ right: HTTPURL) -> Bool {
        left.scheme.isSecure == right.scheme.isSecure
            && (left.host == right.host || site(of: left.host) == site(of: right.host))
    }

    /// The name must not be an IP address.
    private func contains(_ name: String) -> Bool {
        // A name may have a final dot.
        let bare = name.utf8.last == UInt8(ascii: ".") ? String(Substring(name.utf8.dropLast())) : name
        return !bare.utf8.contains(UInt8(ascii: ".")) || isListed(bare)
    }
}
