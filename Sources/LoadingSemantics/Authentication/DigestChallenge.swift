/// A challenge of the Digest scheme (RFC 7616 §3.3) that the client can answer.
package struct DigestChallenge: Sendable, Equatable {
    package var realm: String
    /// The URIs of the protection space; nil means the whole server.
    package var domain: String?
    package var nonce: String
    package var opaque: String?
    /// `stale`: the nonce has expired, but the credentials were not rejected.
    package var isStale: Bool
    package var algorithm: DigestAlgorithm
    package var protection: DigestQOP
    package var hashesUser: Bool
    package var isUTF8: Bool
    /// Whether the challenge has an `algorithm` parameter. If so, the credentials repeat it.
    var namesAlgorithm: Bool

    /// Returns nil if this is not a Digest challenge, has no nonce, or uses an unknown algorithm or qop.
    package init?(_ challenge: AuthenticationChallenge) {
        let parameters = challenge.parameters
        guard challenge.scheme == "digest", let nonce = parameters["nonce"],
            let algorithm = DigestAlgorithm(parameters["algorithm"]),
            let protection = DigestQOP(options: parameters["qop"])
        else { return nil }
        realm = challenge.realm ?? ""
        domain = parameters["domain"]
        self.nonce = nonce
        opaque = parameters["opaque"]
        isStale = parameters["stale"]?.lowercased() == "true"
        self.algorithm = algorithm
        self.protection = protection
        hashesUser = parameters["userhash"]?.lowercased() == "true"
        isUTF8 = parameters["charset"]?.lowercased() == "utf-8"
        namesAlgorithm = parameters["algorithm"] != nil
        // The credentials repeat all three, and a field value must not contain control characters.
        if Self.hasControls(realm) || Self.hasControls(nonce) || opaque.map(Self.hasControls) == true { return nil }
    }

    /// Whether a text contains characters that a quoted string must not (RFC 9110 §5.6.4).
    static func hasControls(_ text: String) -> Bool {
        text.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }
    }
}
