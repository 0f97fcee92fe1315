/// An authentication session of the Digest scheme (RFC 7616 §3.6): one user's answers to one challenge, and what has to
/// be remembered between them.
///
/// User and password are hashed as UTF-8, in the form (NFC, if they are to be understood) in which they are given.
package struct DigestSession: Sendable {
    package let user: String
    package private(set) var challenge: DigestChallenge
    private let password: String
    private let hash: DigestFunction
    /// The nonce in use: the challenge's, or a later one that the server has announced.
    private var nonce: String
    /// How often it was used.
    private var count: UInt32 = 0
    /// H(user:realm:password)
    private var secret: String
    /// H(A1) of a `-sess` algorithm. It stays the same under later nonces of the same challenge (RFC 7616 §3.4.2).
    private var sessionSecret: String?
    /// What was said first under a `-sess` algorithm. It is said again each time, since many servers take the session's
    /// secret to be made of what they hear now.
    private var sessionClientNonce: String?
    /// Renewals without an accepted answer between them.
    private var renewals = 0

    /// How often a server may call a nonce stale before its word is taken for a refusal.
    private static let maximumRenewals = 3

    /// Nil if the hash function is not to be had.
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

    /// The hash of the body that `answer` needs to know, or nil if it needs none.
    package var bodyHash: DigestHash? {
        challenge.protection == .integrity ? challenge.algorithm.hash : nil
    }

    /// Proves who the user is for one request. Each call uses up a count of the nonce.
    ///
    /// - Parameters:
    ///   - target: As it stands in the request line.
    ///   - bodyDigest: The hash of the body if `bodyHash` asks for one; nil means no body.
    ///   - clientNonce: Unpredictable, of 128 bits or more, in letters and digits.
    /// - Returns: Nil if the nonce is used up, or if the user's name cannot be written.
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

    /// Takes what came with a response to an accepted answer.
    package mutating func accept(_ info: AuthenticationInfo?) {
        renewals = 0
        guard let next = info?.nextNonce, next != nonce else { return }
        nonce = next
        count = 0
    }

    /// Takes a new challenge after an answer. True if the request is to be sent again with another answer: only the
    /// nonce had become stale (AUTH-18). False if user or password were refused.
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
            // Without it nobody could compute the session's secret.
            parameters.append("cnonce=" + Self.quoted(answer.clientNonce))
        }
        parameters.append("response=\"\(response)\"")
        if let opaque = challenge.opaque { parameters.append("opaque=" + Self.quoted(opaque)) }
        if challenge.hashesUser { parameters.append("userhash=true") }
        return "Digest " + parameters.joined(separator: ", ")
    }

    /// The user's name in clear, hashed, or encoded (RFC 7616 §3.4).
    private func userParameter() -> String? {
        if challenge.hashesUser { return hashed("\(user):\(challenge.realm)").map { "username=\"\($0)\"" } }
        // Only a server that names a charset knows the standard in which the encoded form came up.
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
