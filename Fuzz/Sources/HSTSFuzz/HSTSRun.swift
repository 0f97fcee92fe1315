import LoadingSemantics

/// Hosts, a copy of what they say they are, and the promises that both are held to.
struct HSTSRun {
    private static let names = [
        "example.com", "www.example.com", "a.b.github.io", "localhost", "1.2.3.4", "[::1]", "com.", "a.dev",
    ]
    private static let limits = HSTSLimits(site: 4, total: 9)

    private var hosts = HSTSHosts(suffixes: PublicSuffixes { $0 == "github.io" }, limits: limits)
    private var copy: [String: HSTSRecord] = [:]
    private var now: Int64 = 1_600_000_000

    mutating func step(_ choice: UInt8, _ bytes: Slice<UnsafeBufferPointer<UInt8>>) {
        let text = String(decoding: bytes, as: UTF8.self)
        now += Int64(choice & 3)
        switch choice >> 6 {
        case 0, 1: note(text, from: Self.names[Int(choice >> 3 & 7)], scheme: choice & 0x40 == 0 ? "https" : "http")
        case 2: lookUp(text)
        default: restore(text, end: Int64(choice & 0x3C) - 8)
        }
        precondition(hosts.count <= Self.limits.total, "more than there is room for")
        precondition(hosts.count == copy.count, "the copy does not follow")
    }

    mutating func finish() {
        precondition(hosts.all(at: now).allSatisfy { copy[$0.host] == $0 }, "the copy holds something else")
        now = .max
        precondition(Set(hosts.removeExpired(at: now)) == Set(copy.keys), "not all were reported")
        precondition(hosts.count == 0, "something is left")
    }

    private mutating func note(_ field: String, from name: String, scheme: String) {
        guard let url = try? HTTPURL(scheme + "://" + name + "/") else { preconditionFailure("an address is none") }
        let wish = StrictTransportSecurity(field)
        if let wish { check(wish, field) }
        let outcome = hosts.note(
            HTTPFields([("Strict-Transport-Security", field), ("Strict-Transport-Security", "max-age=1")]), from: url,
            isTrusted: true, at: now)
        let isTaken = follow(outcome)
        precondition(!isTaken || wish != nil && scheme == "https" && name.contains { $0.isLetter }, "believed")
        if case .refused(.malformed) = outcome { precondition(wish == nil, "a valid one is ignored") }
        if isTaken { precondition(hosts.covers(url.host, at: now) == (wish?.maximumAge != 0) || covers(url.host)) }
    }

    private func check(_ wish: StrictTransportSecurity, _ field: String) {
        precondition((0...1 << 31).contains(wish.maximumAge), "a lifetime out of range")
        // Neither case, nor white space, nor empty directives, nor unknown ones mean anything.
        let uppercase = String(decoding: field.utf8.map { $0 &- 0x61 < 26 ? $0 & 0xDF : $0 }, as: UTF8.self)
        precondition(StrictTransportSecurity(uppercase) == wish, "case changes what is read")
        precondition(StrictTransportSecurity(" ;; \t\(field) ;") == wish, "white space changes what is read")
        if let more = StrictTransportSecurity(field + "; x-unheard-of=\"; max-age=3\"") {
            precondition(more == wish, "what is unknown changes what is read")
        }
        precondition(StrictTransportSecurity(field + "; max-age=5") == nil, "two lifetimes")
        precondition(StrictTransportSecurity(field + "; a=\"") == nil, "a string without an end")
        let written = "max-age=\"\(wish.maximumAge)\"" + (wish.includesSubdomains ? ";includeSubDomains" : "")
        precondition(StrictTransportSecurity(written) == wish, "not the same when written anew")
    }

    /// A record with arbitrary contents.
    private mutating func restore(_ host: String, end: Int64) {
        let record = HSTSRecord(
            host: host, expires: end < 0 ? .max : now + end, includesSubdomains: host.utf8.count.isMultiple(of: 2))
        if follow(hosts.insert(record, at: now)) {
            precondition(hosts.covers(host, at: now), "stored, but not known")
            precondition(!host.isEmpty && host.utf8.count <= 253 && host.utf8.allSatisfy { $0 < 0x80 }, "no host")
        }
    }

    /// Whether something has changed.
    private mutating func follow(_ outcome: HSTSOutcome) -> Bool {
        switch outcome {
        case .stored(let record, let evicted):
            for host in evicted { precondition(copy.removeValue(forKey: host) != nil, "evicted, but never stored") }
            copy[record.host] = record
            precondition(!record.isExpired(at: now), "stored, but over")
        case .refreshed(let record):
            guard let old = copy[record.host] else { preconditionFailure("refreshed, but never stored") }
            precondition(old.includesSubdomains == record.includesSubdomains, "refreshed, but another")
            copy[record.host] = record
        case .removed(let host):
            precondition(copy.removeValue(forKey: host) != nil, "removed, but never stored")
        case .nothing, .refused:
            return false
        }
        return true
    }

    /// The slowest that does the same, for hosts without a dot at their end.
    private func covers(_ host: String) -> Bool {
        HSTSHosts().coversByPreload(host)
            || copy.values.contains { record in
                !record.isExpired(at: now)
                    && (record.host == host || record.includesSubdomains && host.hasSuffix("." + record.host))
            }
    }

    private mutating func upgrade(_ text: String) -> String? {
        guard let url = try? HTTPURL(text), !url.scheme.isSecure, hosts.covers(url.host, at: now) else { return nil }
        return SecureURL.upgrade(text, port: url.port)
    }

    private mutating func lookUp(_ text: String) {
        let upgraded = upgrade(text)
        if let upgraded {
            guard let old = try? HTTPURL(text), let new = try? HTTPURL(upgraded) else {
                preconditionFailure("no URL any longer")
            }
            precondition(!old.scheme.isSecure && new.scheme.isSecure, "not more secure than before")
            precondition(old.host == new.host && old.target == new.target && old.userinfo == new.userinfo, "another")
            precondition(new.port == (old.port == 80 ? 443 : old.port), "another port")
            precondition(upgrade(upgraded) == nil, "upgraded twice")
        } else if let url = try? HTTPURL(text), !url.scheme.isSecure {
            precondition(!hosts.covers(url.host, at: now), "known, but not upgraded")
        }
        if let url = try? HTTPURL("http://" + text), url.host.last != ".", url.host.allSatisfy({ !":%".contains($0) }) {
            let isAddress = url.host.split(separator: ".").last?.allSatisfy(\.isNumber) ?? true
            let isName =
                !isAddress && !url.host.hasPrefix(".") && !url.host.contains("..") && url.host.utf8.count <= 253
            precondition(hosts.covers(url.host, at: now) == (isName && covers(url.host)), "another answer")
        }
    }
}

extension HSTSHosts {
    fileprivate func coversByPreload(_ host: String) -> Bool {
        var hosts = self
        return hosts.covers(host, at: 0)
    }
}
