/// An authentication session of the Digest scheme (RFC 7616 §3.6): the state that is kept between the requests of one
/// user.
///
/// User and password are hashed as UTF-8, without normalization. The caller passes them in normalization form C.
package struct DigestSession: Sendable {
    package let user: String
    package private(set) var challenge: DigestChallenge
    private let password: String
    private let hash: DigestFunction
    /// The current nonce: that of the challenge, or a later `nextnonce`.
    private var nonce: String
    /// The nonce count (`nc`).
    private var count: UInt32 = 0
    /// H(user:realm:password)
    private var secret: String
    /// H(A1) of a `-sess` algorithm. It stays the same for later nonces of the same challenge (RFC 7616 §3.4.2).
    private var sessionSecret: String?
    /// The first cnonce under a `-sess` algorithm. All requests repeat it, because many servers compute H(A1) from the
    /// cnonce of the current request.
    private var sessionClientNonce: String?
    /// Consecutive stale nonces without an accepted request.
    private var renewals = 0

    /// After so many stale nonces in a row the credentials count as rejected.
    private static let maximumRenewals = 3

    /// Returns nil if the hash function is not available.
    package init?(_ challenge: DigestChallenge, user: String, password: String, hash: @escaping DigestFunction) {
        guard
            let secret = Self.secret(
                of: user, password, realm: challenge.realm, algorithm: challenge.algorithm, hash)
        else { return nil }
        self.user = user
        self.password = password
        self.challenge = challenge
        self.hash = hash
        self.secret = secret
        nonce = challenge.nonce
    }

    /// The hash function for the body that `answer` needs; nil unless the qop is `auth-int`.
    package var bodyHash: DigestHash? {
        challenge.protection == .integrity ? challenge.algorithm.hash : nil
    }

    /// The credentials of one request. Each call increments the nonce count.
    ///
    /// - Parameters:
    ///   - target: The request target, as in the request line.
    ///   - bodyDigest: The hash of the body if `bodyHash` is not nil; nil means that there is no body.
    ///   - clientNonce: Unpredictable, at least 128 bits, in letters and digits.
    /// - Returns: Nil if the nonce count is exhausted, or if the user name contains control characters.
    package mutating func answer(
        method: String, target: String, bodyDigest: [UInt8]? = nil, clientNonce: String
    ) -> DigestCredentials? {
        guard count < .max, let name = userParameter() else { return nil }
        count += 1
        var secret = secret
        var clientNonce = clientNonce
        if challenge.algorithm.isSession {
            clientNonce = sessionClientNonce ?? clientNonce
            sessionClientNonce = clientNonce
            if sessionSecret == nil { sessionSecret = hashed("\(secret):\(nonce):\(clientNonce)") }
            guard let sessionSecret else { return nil }
            secret = sessionSecret
        }
        let answer = DigestCredentials(
            target: target, nonce: nonce, count: count, clientNonce: clientNonce, protection: challenge.protection,
            algorithm: challenge.algorithm, secret: secret, hash: hash)
        guard let response = answer.response(method: method, bodyDigest: bodyDigest) else { return nil }
        return answer.writing(fieldValue(name, answer, response))
    }

    /// Processes `Authentication-Info` after an accepted request.
    package mutating func accept(_ info: AuthenticationInfo?) {
        renewals = 0
        guard let next = info?.nextNonce, next != nonce else { return }
        nonce = next
        count = 0
    }

    /// Processes a challenge that follows a request with credentials. Returns true if only the nonce was stale, so the
    /// request is repeated with new credentials (AUTH-18). Returns false if the credentials were rejected.
    package mutating func renew(with challenge: DigestChallenge) -> Bool {
        guard challenge.isStale, challenge.realm == self.challenge.realm, challenge.nonce != nonce,
            renewals < Self.maximumRenewals,
            let secret = Self.secret(
                of: user, password, realm: challenge.realm, algorithm: challenge.algorithm, hash)
        else { return false }
        renewals += 1
        self.challenge = challenge
        self.secret = secret
        nonce = challenge.nonce
        count = 0
        sessionSecret = nil
        sessionClientNonce = nil
        return true
    }

    // MARK: The field

    private func fieldValue(_ name: String, _ answer: DigestCredentials, _ response: String) -> String {
        var parameters = [
            name, "realm=" + Self.quoted(challenge.realm), "uri=" + Self.quoted(answer.target),
        ]
        if challenge.namesAlgorithm { parameters.append("algorithm=" + challenge.algorithm.name) }
        parameters.append("nonce=" + Self.quoted(answer.nonce))
        if let protection = challenge.protection.name {
            parameters += ["nc=" + answer.countText, "cnonce=" + Self.quoted(answer.clientNonce), "qop=" + protection]
        } else if challenge.algorithm.isSession {
            // The server needs the cnonce to compute H(A1).
            parameters.append("cnonce=" + Self.quoted(answer.clientNonce))
        }
        parameters.append("response=\"\(response)\"")
        if let opaque = challenge.opaque { parameters.append("opaque=" + Self.quoted(opaque)) }
        if challenge.hashesUser { parameters.append("userhash=true") }
        return "Digest " + parameters.joined(separator: ", ")
    }

    /// The user name in cleartext, hashed, or extended (RFC 7616 §3.4).
    private func userParameter() -> String? {
        if challenge.hashesUser { return hashed("\(user):\(challenge.realm)").map { "username=\"\($0)\"" } }
        // `username*` is newer than `charset`, so only a server that sends `charset` supports it.
        if challenge.isUTF8, !user.utf8.allSatisfy({ $0 < 0x80 }) {
            let encoded = PercentEncoding.encode(user.utf8) { byte in
                byte &- 0x30 < 10 || asciiLowercase(byte) &- 0x61 < 26
            }
            return "username*=UTF-8''" + String(decoding: encoded, as: UTF8.self)
        }
        return DigestChallenge.hasControls(user) ? nil : "username=" + Self.quoted(user)
    }

    private static func quoted(_ text: String) -> String {
        var result: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { result.append(UInt8(ascii: "\\")) }
            result.append(byte)
        }
        result.append(UInt8(ascii: "\""))
        return String(decoding: result, as: UTF8.self)
    }

    // MARK: Hashes

    private func hashed(_ text: String) -> String? {
        hash(challenge.algorithm.hash, Array(text.utf8)).map(DigestCredentials.hexadecimal)
    }

    private static func secret(
        of user: String, _ password: String, realm: String, algorithm: DigestAlgorithm, _ hash: DigestFunction
    ) -> String? {
        hash(algorithm.hash, Array("\(user):\(realm):\(password)".utf8)).map(DigestCredentials.hexadecimal)
    }
}
