/// Which fields of a response the cache keeps, and which it takes over when it learns more (RFC 9111 §3.1, §3.2).
package enum CachedFields {
    /// The fields to keep. A response without a date gets that of its arrival (RFC 9110 §6.6.1).
    package static func stored(_ fields: HTTPFields, responseTime: Int64) -> HTTPFields {
        var doomed = perConnection
        for line in fields.values("Connection") {
            for name in line.utf8.split(separator: UInt8(ascii: ",")) { doomed.insert(lowercase(name)) }
        }
        var result = fields.filtered { !doomed.contains(fields.name(at: $0).lowercased()) }
        if !result.contains("Date") { result.append("Date", HTTPDate.text(responseTime)) }
        return result
    }

    /// Kept fields with those of a 304, or of a response to HEAD, in their place.
    static func updated(_ kept: HTTPFields, with new: HTTPFields, responseTime: Int64) -> HTTPFields {
        let all = stored(new, responseTime: responseTime)
        // The tags are the same but for their strength, and the body is what it was when it came.
        let keepsTag = kept.contains("ETag")
        let news = all.filtered { index in
            let name = all.name(at: index).lowercased()
            return !describesBody.contains(name) && !(keepsTag && name == "etag")
        }
        // Without a new one, the old age would be counted from the new date.
        var doomed: Set = ["age"]
        for index in news.positions.indices { doomed.insert(news.name(at: index).lowercased()) }
        var result = kept.filtered { !doomed.contains(kept.name(at: $0).lowercased()) }
        result.append(contentsOf: news)
        return result
    }

    private static func lowercase(_ name: Substring.UTF8View) -> String {
        String(decoding: OptionalWhitespace.trimmed(name).map(asciiLowercase), as: UTF8.self)
    }

    /// What speaks of one connection, or of a proxy, and not of the response.
    private static let perConnection: Set = [
        "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
        "proxy-authentication-info", "proxy-authorization",
    ]

    /// The stored body has been read by what its own response said of it.
    private static let describesBody: Set = ["content-length", "content-encoding", "content-type", "content-range"]
}
