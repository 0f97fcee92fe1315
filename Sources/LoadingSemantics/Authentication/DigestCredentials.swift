/// The Digest credentials of one request, and what is needed to verify the `rspauth` of its response.
package struct DigestCredentials: Sendable {
    /// The value of `Authorization` or `Proxy-Authorization`.
    package private(set) var fieldValue = ""
    let target: String
    let nonce: String
    let count: UInt32
    let clientNonce: String
    let protection: DigestQOP
    private let algorithm: DigestAlgorithm
    /// H(A1)
    private let secret: String
    private let hash: DigestFunction

    init(
        target: String, nonce: String, count: UInt32, clientNonce: String, protection: DigestQOP,
        algorithm: DigestAlgorithm, secret: String, hash: @escaping DigestFunction
    ) {
        self.target = target
        self.nonce = nonce
        self.count = count
        self.clientNonce = clientNonce
        self.protection = protection
        self.algorithm = algorithm
        self.secret = secret
        self.hash = hash
    }

    /// The result of verifying `rspauth` (RFC 7616 §3.5).
    package enum ServerProof: Sendable, Equatable {
        /// There is no `rspauth`, or it cannot be verified without the response body.
        case missing
        case right
        /// The server does not know the password.
        case wrong
    }

    /// - Parameter bodyDigest: The hash of the response body, for `auth-int`.
    package func serverProof(in info: AuthenticationInfo?, bodyDigest: [UInt8]? = nil) -> ServerProof {
        guard let parameters = info?.parameters, let proof = parameters["rspauth"] else { return .missing }
        if let said = parameters["cnonce"], said != clientNonce { return .wrong }
        if let said = parameters["nc"], UInt32(said, radix: 16) != count { return .wrong }
        var protection = protection
        if let said = parameters["qop"] {
            guard let read = DigestQOP(options: said) else { return .wrong }
            protection = read
        }
        if protection == .integrity, bodyDigest == nil { return .missing }
        guard let expected = response(method: "", bodyDigest: bodyDigest, protection) else { return .missing }
        return proof.lowercased() == expected ? .right : .wrong
    }

    /// The `response` parameter (RFC 7616 §3.4.1). With an empty method it is the `rspauth` of the server.
    func response(method: String, bodyDigest: [UInt8]?) -> String? {
        response(method: method, bodyDigest: bodyDigest, protection)
    }

    private func response(method: String, bodyDigest: [UInt8]?, _ protection: DigestQOP) -> String? {
        var request = "\(method):\(target)"
        if protection == .integrity {
            guard let body = bodyDigest ?? hash(algorithm.hash, []) else { return nil }
            request += ":" + Self.hexadecimal(body)
        }
        guard let requestHash = hashed(request) else { return nil }
        guard let name = protection.name else { return hashed("\(secret):\(nonce):\(requestHash)") }
        return hashed("\(secret):\(nonce):\(countText):\(clientNonce):\(name):\(requestHash)")
    }

    /// Eight hexadecimal digits.
    var countText: String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: max(8 - digits.utf8.count, 0)) + digits
    }

    func writing(_ fieldValue: String) -> DigestCredentials {
        var answer = self
        answer.fieldValue = fieldValue
        return answer
    }

    private func hashed(_ text: String) -> String? {
        hash(algorithm.hash, Array(text.utf8)).map(Self.hexadecimal)
    }

    static func hexadecimal(_ octets: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: octets.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
