/// Completes a URL argument whose scheme may be omitted.
package enum URLArgument {
    /// Adds an omitted scheme: `http` for this machine, `https` for other hosts. `:8080/path` means
    /// `http://localhost:8080/path`.
    package static func complete(_ text: String) -> String {
        if hasScheme(text) { return text }
        if text.hasPrefix(":"), !text.hasPrefix("::") {
            let rest = text.dropFirst()
            return rest.first?.isNumber == true ? "http://localhost:\(rest)" : "http://localhost\(rest)"
        }
        let authority = text.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let hostAndPort = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let host = hostAndPort.hasPrefix("[") ? hostAndPort.prefix { $0 != "]" } : hostAndPort.prefix { $0 != ":" }
        return (isLocal(host.lowercased()) ? "http://" : "https://") + text
    }

    /// The same with data added to the query, before the fragment.
    static func complete(_ text: String, query: String) -> String {
        let url = complete(text)
        guard !query.isEmpty else { return url }
        let fragment = url.firstIndex(of: "#") ?? url.endIndex
        let base = url[..<fragment]
        let separator = base.contains("?") ? (base.hasSuffix("?") || base.hasSuffix("&") ? "" : "&") : "?"
        return base + separator + query + url[fragment...]
    }

    /// The URL for `-T`: if its path ends with `/`, or is missing, the file's name is appended.
    static func withFileName(of file: String, _ text: String) -> String {
        let url = complete(text)
        guard let start = url.firstRange(of: "://")?.upperBound else { return text }
        let end = url[start...].firstIndex { $0 == "?" || $0 == "#" } ?? url.endIndex
        let place = url[start..<end]
        let hasPath = place.contains("/")
        guard !hasPath || place.hasSuffix("/") else { return text }
        let name = file.split(separator: "/").last.map { PercentCoding.encoded(String($0)) } ?? ""
        return url[..<end] + (hasPath ? "" : "/") + name + url[end...]
    }

    /// The URL of a WebSocket: completed as other URLs, with `ws` for `http` and `wss` for `https`.
    package static func webSocket(_ text: String) throws(UsageError) -> String {
        let url = complete(text)
        let scheme = url.prefix { $0 != ":" }
        let rest = url.dropFirst(scheme.count)
        switch scheme.lowercased() {
        case "ws", "wss": return url
        case "http": return "ws" + rest
        case "https": return "wss" + rest
        default: throw UsageError("a WebSocket has a ws: or wss: URL, not \(scheme):", exitCode: .unsupportedURL)
        }
    }

    /// Whether a host is this machine, by name or loopback address. `127.example.org` is not.
    private static func isLocal(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.first == "127" && parts.count <= 4
            && parts.allSatisfy { $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } && UInt32($0) != nil }
    }

    /// The file name for `-O`: the last path component. `.` and `..` are refused, so the file is always in the current
    /// folder.
    package static func remoteName(of text: String, for option: String = "-O") throws(UsageError) -> String {
        let url = complete(text)
        let afterScheme = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        // By bytes: a slash with a combining mark is a slash to the file system.
        let path = afterScheme.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let slash = path.lastIndex(of: UInt8(ascii: "/"))
        let name = slash.map { Substring(path[path.index(after: $0)...]) } ?? ""
        guard !name.isEmpty, name != ".", name != ".." else {
            throw UsageError("\(option): the URL names no file; use -o FILE")
        }
        return String(name)
    }

    private static func hasScheme(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        let scheme = text[..<colon]
        guard let first = scheme.first, first.isASCII, first.isLetter,
            scheme.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) })
        else { return false }
        let rest = text[text.index(after: colon)...]
        // In `localhost:8080` the colon precedes a port.
        return rest.hasPrefix("//") || scheme == "data"
    }
}
