internal import Foundation
internal import LoadingEvents

/// Cookies by domain, name and path. A value: its owner keeps the lock.
struct CookieJar {
    private struct Key: Hashable {
        var partition: String?
        var domain: String
        var path: String
        var name: String

        init(_ cookie: HTTPCookie, in partition: String?) {
            self.partition = partition
            domain = cookie.domain
            path = cookie.path
            name = cookie.name
        }
    }

    /// Where a lookup starts: the domain without its dot, so that a host finds both kinds.
    private struct Site: Hashable {
        var partition: String?
        var host: Substring
    }

    private var sites: [Site: [Key: HTTPCookie]] = [:]

    var isEmpty: Bool { sites.isEmpty }

    var all: [HTTPCookie] { sites.values.flatMap(\.values).sorted { $0.created < $1.created } }

    /// Puts a cookie in, in place of one with the same name, domain and path; an expired one only removes that.
    /// False if nothing changed.
    mutating func set(_ cookie: HTTPCookie, in partition: String?, at now: Date) -> Bool {
        guard cookie.expiresDate.map({ $0 > now }) ?? true else { return remove(cookie, in: partition) }
        sites[Self.site(of: cookie, in: partition), default: [:]][Key(cookie, in: partition)] = cookie
        return true
    }

    /// Takes the cookie of that name, domain and path out. False if there was none.
    mutating func remove(_ cookie: HTTPCookie, in partition: String?) -> Bool {
        let site = Self.site(of: cookie, in: partition)
        guard sites[site]?.removeValue(forKey: Key(cookie, in: partition)) != nil else { return false }
        if sites[site]?.isEmpty == true { sites[site] = nil }
        return true
    }

    /// Takes every cookie out for which `condition` holds. False if there was none.
    mutating func removeAll(where condition: (HTTPCookie) -> Bool) -> Bool {
        var didChange = false
        for (site, cookies) in sites {
            let rest = cookies.filter { !condition($0.value) }
            if rest.count == cookies.count { continue }
            didChange = true
            sites[site] = rest.isEmpty ? nil : rest
        }
        return didChange
    }

    /// The cookies for an address: longest path first, then the oldest (RFC 6265 §5.4).
    func cookies(for url: URL, in partition: String?, at now: Date) -> [HTTPCookie] {
        guard !isEmpty, let host = url.host?.lowercased(), !host.isEmpty else { return [] }
        let path = url.path(percentEncoded: true)
        let isSecure = url.scheme.map { ["https", "wss"].contains($0.lowercased()) } ?? false
        var found: [HTTPCookie] = []
        var rest = host[...]
        while true {
            for cookie in (sites[Site(partition: partition, host: rest)] ?? [:]).values
            where (cookie.domain.hasPrefix(".") || rest.count == host.count)
                && cookie.expiresDate.map({ $0 > now }) ?? true
                && (isSecure || !cookie.isSecure)
                && matches(path: path.isEmpty ? "/" : path, cookie.path)
                && cookie.portList.map({ $0.contains(NSNumber(value: port(of: url, isSecure: isSecure))) }) ?? true
            {
                found.append(cookie)
            }
            guard let dot = rest.firstIndex(of: ".") else { break }
            rest = rest[rest.index(after: dot)...]
        }
        return found.sorted {
            $0.path.utf8.count != $1.path.utf8.count ? $0.path.utf8.count > $1.path.utf8.count : $0.created < $1.created
        }
    }

    /// Whether a host may set a cookie for that domain (RFC 6265 §5.1.3).
    static func matches(host: String, domain: String) -> Bool {
        let bare = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
        return host == bare || domain.hasPrefix(".") && host.hasSuffix("." + bare)
    }

    private static func site(of cookie: HTTPCookie, in partition: String?) -> Site {
        Site(partition: partition, host: cookie.domain.hasPrefix(".") ? cookie.domain.dropFirst() : cookie.domain[...])
    }

    /// Whether a path is the cookie's or below it (RFC 6265 §5.1.4).
    private func matches(path: String, _ cookiePath: String) -> Bool {
        guard path.hasPrefix(cookiePath) else { return false }
        return cookiePath.hasSuffix("/") || path.utf8.count == cookiePath.utf8.count
            || path.utf8.dropFirst(cookiePath.utf8.count).first == UInt8(ascii: "/")
    }

    private func port(of url: URL, isSecure: Bool) -> Int { url.port ?? (isSecure ? 443 : 80) }
}
