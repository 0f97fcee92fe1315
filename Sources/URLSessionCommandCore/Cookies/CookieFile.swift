import Foundation
import URLLoading

/// Cookies as text: Netscape's format, as curl and browsers write it, and header fields, which curl reads too.
enum CookieFile {
    static let heading = """
        # Netscape HTTP Cookie File
        # https://curl.se/docs/http-cookies.html
        # This file was written by urlsession.


        """

    /// The comment of cookies that came from the command line, which files do not get.
    static let commentOfText = "urlsession: from the command line"

    /// Cookies that have expired, and lines that are no cookies, are left out.
    ///
    /// Only LF and CRLF end a line. A server may send the other line breaks of Unicode in a value: what follows them
    /// there must not become a cookie for another host.
    ///
    /// - Parameter host: The host for header fields, which name none.
    static func cookies(in text: String, host: String) -> [HTTPCookie] {
        text.split { $0 == "\n" || $0 == "\r\n" }.compactMap { line in
            if let field = field(line) { return cookie(ofField: field, host) }
            return cookie(ofLine: line)
        }
    }

    /// The value of a line `Set-Cookie: …`.
    private static func field(_ line: Substring) -> Substring? {
        let name = "set-cookie:"
        guard line.lowercased().hasPrefix(name) else { return nil }
        return line.dropFirst(name.count)
    }

    private static func cookie(ofField value: Substring, _ host: String) -> HTTPCookie? {
        guard let url = URL(string: "https://\(host)/") else { return nil }
        return HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": String(value)], for: url).first
    }

    /// Domain, whether it includes subdomains, path, whether it needs TLS, expiry, name and value, separated by tabs.
    private static func cookie(ofLine line: Substring) -> HTTPCookie? {
        let mark = "#HttpOnly_"
        let isHTTPOnly = line.hasPrefix(mark)
        if line.hasPrefix("#"), !isHTTPOnly { return nil }
        let text = isHTTPOnly ? line.dropFirst(mark.count) : line
        var parts = text.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        // A cookie without a value may lack the last tab.
        if parts.count == 6 { parts.append("") }
        guard parts.count == 7, let expiry = Int64(parts[4]) else { return nil }
        let includesSubdomains = parts[1].uppercased() == "TRUE"
        let domain = parts[0].hasPrefix(".") ? String(parts[0].dropFirst()) : parts[0]
        var properties: [HTTPCookiePropertyKey: Any] = [
            .domain: includesSubdomains ? "." + domain : domain, .path: parts[2].isEmpty ? "/" : parts[2],
            .name: parts[5], .value: parts[6],
        ]
        if parts[3].uppercased() == "TRUE" { properties[.secure] = "TRUE" }
        if isHTTPOnly { properties[HTTPCookiePropertyKey(rawValue: "HttpOnly")] = "TRUE" }
        if expiry > 0 {
            let date = Date(timeIntervalSince1970: Double(expiry))
            guard date > Date() else { return nil }
            properties[.expires] = date
        }
        return HTTPCookie(properties: properties)
    }

    /// Cookies with a tab are left out, because tabs separate the fields of a line.
    static func text(of cookies: [HTTPCookie]) -> String {
        let lines = cookies.filter { $0.comment != commentOfText }.compactMap { (cookie) -> String? in
            let includesSubdomains = cookie.domain.hasPrefix(".")
            let expiry = cookie.isSessionOnly ? 0 : cookie.expiresDate.map(seconds) ?? 0
            let fields = [
                (cookie.isHTTPOnly ? "#HttpOnly_" : "") + cookie.domain, includesSubdomains ? "TRUE" : "FALSE",
                cookie.path, cookie.isSecure ? "TRUE" : "FALSE", "\(expiry)", cookie.name, cookie.value,
            ]
            guard fields.allSatisfy({ $0.utf8.allSatisfy { $0 >= 0x20 } }) else { return nil }
            return fields.joined(separator: "\t") + "\n"
        }
        return heading + lines.joined()
    }

    /// Since 1970. A cookie may outlive what a number of seconds can say.
    private static func seconds(_ date: Date) -> Int64 {
        Int64(exactly: date.timeIntervalSince1970.rounded(.towardZero)) ?? .max
    }

    /// The cookies of a text as `-b` has it: `a=b; c=d`.
    static func cookies(ofText text: String, for url: URL) -> [HTTPCookie] {
        text.split(separator: ";").compactMap { pair in
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let host = url.host else { return nil }
            var properties: [HTTPCookiePropertyKey: Any] = [
                .domain: host, .path: "/", .name: String(parts[0]), .value: String(parts[1]), .comment: commentOfText,
            ]
            // A redirect must not send it in clear text.
            if url.scheme?.lowercased() == "https" { properties[.secure] = "TRUE" }
            return HTTPCookie(properties: properties)
        }
    }
}
