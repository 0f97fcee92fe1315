/// Default paths and path matching (RFC 6265bis §5.1.4).
package enum CookiePath {
    /// The default path: the directory of the request path, without the trailing slash.
    package static func `default`(of path: String) -> String {
        guard path.utf8.first == UInt8(ascii: "/"), let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")),
            slash > path.startIndex
        else { return "/" }
        return String(path[..<slash])
    }

    /// Whether a request path path-matches the path of a cookie.
    package static func matches(_ path: String, _ cookiePath: String) -> Bool {
        CookieText.compare(path, cookiePath) { path, cookiePath in
            guard path.count >= cookiePath.count else { return false }
            for index in cookiePath.indices where path[index] != cookiePath[index] { return false }
            return path.count == cookiePath.count || cookiePath.last == UInt8(ascii: "/")
                || path[cookiePath.count] == UInt8(ascii: "/")
        }
    }
}
