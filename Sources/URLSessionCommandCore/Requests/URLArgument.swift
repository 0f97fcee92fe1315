/// The URL as people type it: the scheme may be left out.
package enum URLArgument {
    /// Adds the scheme that was left out: `http` for this machine, `https` for every other host.
    /// `:8080/path` stands for a port of this machine.
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

    /// Whether a host is this machine: by its address too, but not by a name that begins as one.
    private static func isLocal(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.first == "127" && parts.count <= 4
            && parts.allSatisfy { $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } && UInt32($0) != nil }
    }

    /// The file name that `-O` uses: the last component of the path, never one that leaves the folder.
    package static func remoteName(of text: String, for option: String = "-O") throws(UsageError) -> String {
        let url = complete(text)
        let afterScheme = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let path = afterScheme.prefix { $0 != "?" && $0 != "#" }
        let name =
            path.firstIndex(of: "/") == nil
            ? "" : path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
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
        // `localhost:8080` has a colon too, but a port after it.
        return rest.hasPrefix("//") || scheme == "data"
    }
}
