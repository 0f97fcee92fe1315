extension RedirectRules {
    /// The target of a `Location` field.
    struct Target {
        var url: String
        var isSameOrigin = false
        /// From https to http.
        var isDowngrade = false
        var leavesHTTP = false
        /// Whether the reference has no authority, so that it has that of the base.
        var inheritsAuthority = false
        var user: (user: String, password: String?)?
    }

    /// Returns nil if the field is not a loadable URL. The response is then the result.
    static func target(of location: String, from url: String) -> Target? {
        guard let written = written(location) else { return nil }
        let base = URLReference(Array(url.utf8))
        let reference = URLReference(written)
        var resolved = reference.resolved(against: base)
        //
        if resolved.fragment == nil { resolved.fragment = base.fragment }
        resolved.repairComponents()
        let source = try? HTTPURL(url)
        do throws(HTTPURL.Failure) {
            let destination = try HTTPURL(String(decoding: resolved.bytes, as: UTF8.self))
            // otherwise unchanged, except that userinfo is removed and a host that needs decoding is
            // replaced by its ASCII form.
            let authority = resolved.authority ?? []
            if destination.userinfo != nil || authority.contains(UInt8(ascii: "%")) && authority.first != 0x5B {
                resolved.authority = destination.authority
            }
            return Target(
                url: String(decoding: resolved.bytes, as: UTF8.self),
                isSameOrigin: source?.isSameOrigin(as: destination) ?? false,
                isDowngrade: source?.scheme.isSecure == true && !destination.scheme.isSecure,
                inheritsAuthority: reference.scheme == nil && reference.authority == nil, user: destination.credential)
        } catch .unsupportedScheme {
            // "http:path" has the scheme but no host.
            let scheme = (resolved.scheme ?? []).map(asciiLowercase)
            let isHTTP = ["http", "https", "ws", "wss"].contains { scheme.elementsEqual($0.utf8) }
            if isHTTP || scheme.isEmpty { return nil }
            return Target(
                url: String(decoding: resolved.bytes, as: UTF8.self), isDowngrade: source?.scheme.isSecure == true,
                leavesHTTP: true)
        } catch {
            return nil
        }
    }

    /// The field value, trimmed, with characters that a URL must not contain percent-encoded, as servers often send
    /// them raw. Nil if it is empty or contains control characters.
    private static func written(_ location: String) -> [UInt8]? {
        var bytes = Array(location.utf8)[...]
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes.removeFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes.removeLast() }
        if bytes.isEmpty || bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) { return nil }
        if bytes.allSatisfy(URLBytes.isURI) { return Array(bytes) }
        return PercentEncoding.encode(bytes, unless: URLBytes.isURI)
    }
}
