/// The secure form of a URL (RFC 6797 §8.3).
package enum SecureURL {
    /// The text of a URL of `http` or `ws` as one of `https` or `wss`. Port 80 becomes the secure one, which needs not
    /// be said; any other stays. All else stays as it is written.
    ///
    /// - Parameter port: The URL's.
    package static func upgrade(_ url: String, port: UInt16) -> String {
        var reference = URLReference(Array(url.utf8))
        guard let scheme = reference.scheme else { return url }
        reference.scheme = Array((scheme.count == 2 ? "wss" : "https").utf8)[...]
        if port == 80, let authority = reference.authority {
            let hostStart = authority.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? authority.startIndex
            // A host with colons is an address, which has brackets and never comes here.
            reference.authority =
                authority[..<(authority[hostStart...].firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex)]
        }
        return String(decoding: reference.bytes, as: UTF8.self)
    }
}
