/// The domains under which strangers have theirs, such as `com` and `co.uk`: nobody may set cookies for all of them.
///
/// The list is somebody else's: this asks it, and draws the lines between sites by its answers. A single label is a
/// public suffix in any case, so that without a list top-level domains are safe at least.
package struct PublicSuffixes: Sendable {
    /// A list that has to be read first.
    package struct Reading: Sendable {
        let isDone: @Sendable () -> Bool
        let whenDone: @Sendable (@escaping @Sendable () -> Void) -> Void
        let wait: @Sendable () -> Void

        /// - Parameters:
        ///   - isDone: Whether nobody would wait for it any more.
        ///   - whenDone: Has it read, and calls when that is done, in the order of asking; at once if it is done.
        ///   - wait: Has it read, and comes back when it has been.
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
    ///   - reading: Nil for a list that is there.
    ///   - isListed: Whether a domain of two labels or more is a public suffix. It gets lower-case ASCII without a dot at the
    ///     end, but whatever labels a server makes up.
    package init(_ reading: Reading? = nil, _ isListed: @escaping @Sendable (String) -> Bool) {
        self.reading = reading
        self.isListed = isListed
    }

    /// Whether the site of a host can be told without waiting for a disk.
    package func isAtHand(for host: String) -> Bool {
        guard let reading else { return true }
        return reading.isDone() || CookieDomain.isAddress(host) || !host.utf8.contains(UInt8(ascii: "."))
    }

    /// Waits until the sites of those hosts can be told. Who is about to take a lock does it before, or those would wait for a
    /// disk who wait for the lock.
    package func waitUntilAtHand(for hosts: some Sequence<String>) {
        if let reading, !hosts.allSatisfy({ isAtHand(for: $0) }) { reading.wait() }
    }

    /// Waits until every site can be told.
    package func waitUntilAtHand() {
        if let reading, !reading.isDone() { reading.wait() }
    }

    /// Calls when every site can, at once or on another thread.
    package func whenAtHand(_ body: @escaping @Sendable () -> Void) {
        if let reading { reading.whenDone(body) } else { body() }
    }

    /// Without a list.
    package static let topLevelDomains = PublicSuffixes { _ in false }

    /// Where the cookies of one party lie.
    package struct Site: Sendable, Equatable {
        /// The registrable domain: one label more than the longest public suffix. A public suffix, an address or a name
        /// of one label is a site of its own.
        package var name: String
        /// Whether it is a public suffix, so that what lies below belongs to others.
        package var isSuffix: Bool
    }

    /// The site of a host, as far as that can be told without waiting for a disk: else its last two labels.
    package func siteAtHand(of host: String) -> Site {
        isAtHand(for: host) ? site(of: host) : Self.topLevelDomains.site(of: host)
    }

    /// The site of a host. Waits for the list if that is being read.
    package func site(of host: String) -> Site {
        if CookieDomain.isAddress(host) { return Site(name: host, isSuffix: false) }
        if contains(host) { return Site(name: host, isSuffix: true) }
        var site = host[...]
        // A name without a dot in it is a public suffix, so there is an end.
        while let dot = site.utf8.firstIndex(of: UInt8(ascii: ".")) {
            let rest = site[site.utf8.index(after: dot)...]
            if contains(String(rest)) { break }
            site = rest
        }
        return Site(name: String(site), isSuffix: false)
    }

    /// Whether both belong to one site, and are secure or not alike (RFC 6265bis §5.2).
    package func areSameSite(_ left: HTTPURL, _ right: HTTPURL) -> Bool {
        left.scheme.isSecure == right.scheme.isSecure
            && (left.host == right.host || site(of: left.host) == site(of: right.host))
    }

    /// The host is a name, no address.
    private func contains(_ name: String) -> Bool {
        // One dot may stand at the end of a name.
        let bare = name.utf8.last == UInt8(ascii: ".") ? String(Substring(name.utf8.dropLast())) : name
        return !bare.utf8.contains(UInt8(ascii: ".")) || isListed(bare)
    }
}
