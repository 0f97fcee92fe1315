/// The fields that the cache stores, and their update after validation (RFC 9111 §3.1, §3.2).
package enum CachedFields {
    /// The fields to store. Adds `Date` with the time of arrival if it is missing (RFC 9110 §6.6.1).
    package static func stored(_ fields: HTTPFields, responseTime: Int64) -> HTTPFields {
        var listed: Set<String> = []
        for line in fields.values("Connection") {
            for name in line.utf8.split(separator: UInt8(ascii: ",")) { listed.insert(lowercase(name)) }
        }
        var result = fields.filtered { index in
            !perConnection.contains { fields.isNamed($0, at: index) }
                && (listed.isEmpty || !listed.contains(fields.name(at: index).lowercased()))
        }
        if !result.contains("Date") { result.append("Date", HTTPDate.text(responseTime)) }
        return result
    }

    /// The stored fields, updated by those of a 304 or of a response to HEAD.
    static func updated(_ kept: HTTPFields, with new: HTTPFields, responseTime: Int64) -> HTTPFields {
        let all = stored(new, responseTime: responseTime)
        // The tags match, at least weakly, so the stored tag and the fields that describe the stored body are kept.
        let keepsTag = kept.contains("ETag")
        let updates = all.filtered { index in
            let name = all.name(at: index).lowercased()
            return !describesBody.contains(name) && !(keepsTag && name == "etag")
        }
        // Without a new `Age`, the old one would count from the new `Date`.
        var removed: Set = ["age"]
        for index in updates.positions.indices { removed.insert(updates.name(at: index).lowercased()) }
        var result = kept.filtered { !removed.contains(kept.name(at: $0).lowercased()) }
        result.append(contentsOf: updates)
        return result
    }

    private static func lowercase(_ name: Substring.UTF8View) -> String {
        String(decoding: OptionalWhitespace.trimmed(name).map(asciiLowercase), as: UTF8.self)
    }

    /// Fields of a connection or of a proxy, which are not part of the response.
    private static let perConnection = [
        "connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
        "proxy-authentication-info", "proxy-authorization",
    ]

    /// The stored body was decoded according to the stored fields.
    private static let describesBody: Set = ["content-length", "content-encoding", "content-type", "content-range"]
}
