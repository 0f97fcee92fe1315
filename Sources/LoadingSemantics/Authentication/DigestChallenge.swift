/// A challenge of the Digest scheme (RFC 7616 §3.3) that can be met.
package struct DigestChallenge: Sendable, Equatable {
    package var realm: String
    /// Where else the same credentials are good; nil means all of the server.
    package var domain: String?
    package var nonce: String
    package var opaque: String?
    /// Whether only the nonce was too old: the credentials themselves were not refused.
    package var isStale: Bool
    package var algorithm: DigestAlgorithm
    package var protection: DigestQOP
    package var hashesUser: Bool
    package var isUTF8: Bool
    /// Whether the server has named the algorithm, and so expects to hear it.
    var namesAlgorithm: Bool

    /// Nil if it is no Digest challenge, has no nonce, or wants what nobody here knows.
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
        // All three are sent back, and a field value cannot hold controls.
        if Self.hasControls(realm) || Self.hasControls(nonce) || opaque.map(Self.hasControls) == true { return nil }
    }

    /// Whether a text cannot stand in a quoted string (RFC 9110 §5.6.4).
    static func hasControls(_ text: String) -> Bool {
        text.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }
    }
}
