/// A URL or relative reference, split into its five components (RFC 3986 §4.1, appendix B) and otherwise unchanged.
package struct URLReference: Equatable {
    var scheme: ArraySlice<UInt8>?
    var authority: ArraySlice<UInt8>?
    var path: ArraySlice<UInt8>
    var query: ArraySlice<UInt8>?
    var fragment: ArraySlice<UInt8>?

    init(_ bytes: [UInt8]) {
        var rest = bytes[...]
        if let mark = rest.firstIndex(of: UInt8(ascii: "#")) {
            fragment = rest[(mark + 1)...]
            rest = rest[..<mark]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
            query = rest[(mark + 1)...]
            rest = rest[..<mark]
        }
        if let mark = rest.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(rest[..<mark]) {
            scheme = rest[..<mark]
            rest = rest[(mark + 1)...]
        }
        if rest.starts(with: "//".utf8) {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.endIndex
            authority = rest[..<end]
            rest = rest[end...]
        }
        path = rest
    }

    /// The target of this reference with the given base (RFC 3986 §5.2.2). Nothing is encoded or decoded.
    func resolved(against base: URLReference) -> URLReference {
        var target = self
        if scheme == nil {
            target.scheme = base.scheme
            if authority == nil {
                target.authority = base.authority
                if path.isEmpty {
                    target.path = base.path
                    if query == nil { target.query = base.query }
                    return target
                }
                if path.first != UInt8(ascii: "/") { target.path = merged(with: base) }
            }
        }
        target.path = Self.withoutDotSegments(target.path)
        return target
    }

    /// The recomposed reference (§5.3).
    var bytes: [UInt8] {
        // One allocation, and no joined sequences: this runs at each redirect.
        var result: [UInt8] = []
        let parts = [scheme, authority, path, query, fragment]
        result.reserveCapacity(parts.reduce(5) { $0 + ($1?.count ?? 0) })
        if let scheme {
            result.append(contentsOf: scheme)
            result.append(UInt8(ascii: ":"))
        }
        if let authority {
            result.append(UInt8(ascii: "/"))
            result.append(UInt8(ascii: "/"))
            result.append(contentsOf: authority)
        }
        result.append(contentsOf: path)
        if let query {
            result.append(UInt8(ascii: "?"))
            result.append(contentsOf: query)
        }
        if let fragment {
            result.append(UInt8(ascii: "#"))
            result.append(contentsOf: fragment)
        }
        return result
    }

    /// Percent-encodes what the components after the authority must not contain. Foundation's `URL` encodes a component
    /// with such a character anew, and with it the escapes that it has: "/[a]%20" would become "/%5Ba%5D%2520".
    mutating func repairComponents() {
        path = PercentEncoding.repaired(path)
        query = query.map(PercentEncoding.repaired)
        fragment = fragment.map(PercentEncoding.repaired)
    }

    private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let first = bytes.first, asciiLowercase(first) &- 0x61 < 26 else { return false }
        return bytes.allSatisfy { byte in
            asciiLowercase(byte) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == UInt8(ascii: "+")
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
    }

    /// §5.2.3
    private func merged(with base: URLReference) -> ArraySlice<UInt8> {
        if base.authority != nil, base.path.isEmpty { return Array("/".utf8) + path }
        guard let slash = base.path.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return base.path[...slash] + path
    }

    /// Whether a segment begins with a dot. Nearly no path has one.
    private static func mayHaveDotSegments(_ path: ArraySlice<UInt8>) -> Bool {
        var before = UInt8(ascii: "/")
        for byte in path {
            if byte == UInt8(ascii: "."), before == UInt8(ascii: "/") { return true }
            before = byte
        }
        return false
    }

    /// §5.2.4
    private static func withoutDotSegments(_ path: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard mayHaveDotSegments(path) else { return path }
        let dot: [UInt8] = [0x2E]
        let dots: [UInt8] = [0x2E, 0x2E]
        let isAbsolute = path.first == UInt8(ascii: "/")
        let segments = (isAbsolute ? path.dropFirst() : path)
            .split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        var kept: [ArraySlice<UInt8>] = []
        for (index, segment) in segments.enumerated() {
            let isDots = segment.elementsEqual(dots)
            guard isDots || segment.elementsEqual(dot) else {
                kept.append(segment)
                continue
            }
            if isDots, !kept.isEmpty { kept.removeLast() }
            // "/a/." and "/a/b/.." are directories.
            if index == segments.count - 1 { kept.append([]) }
        }
        let joined = kept.joined(separator: [UInt8(ascii: "/")])
        return isAbsolute ? [UInt8(ascii: "/")] + joined : ArraySlice(joined)
    }
}

extension URLReference {
    /// A URL without its userinfo.
    package static func withoutUserinfo(_ url: String) -> String {
        var reference = URLReference(Array(url.utf8))
        guard let authority = reference.authority, let mark = authority.lastIndex(of: UInt8(ascii: "@")) else {
            return url
        }
        reference.authority = authority[(mark + 1)...]
        return String(decoding: reference.bytes, as: UTF8.self)
    }

    /// A URL with its user but without its password.
    package static func withoutPassword(_ url: String) -> String {
        var reference = URLReference(Array(url.utf8))
        guard let authority = reference.authority, let mark = authority.lastIndex(of: UInt8(ascii: "@")),
            let colon = authority[..<mark].firstIndex(of: UInt8(ascii: ":"))
        else { return url }
        reference.authority = authority[..<colon] + authority[mark...]
        return String(decoding: reference.bytes, as: UTF8.self)
    }
}
