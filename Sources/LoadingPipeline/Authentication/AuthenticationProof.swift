internal import FoundationEssentials
internal import LoadingConnections
internal import LoadingSemantics
internal import LoadingTransport

/// The state that authenticates requests to a server with one scheme.
enum AuthenticationProof {
    /// The value of the field, which is always the same.
    case basic(String)
    case digest(DigestSession)
    /// The connection of the request is authenticated, or will be by the steps sent on it.
    case connection(ConnectionProof)

    /// Nil if the credential cannot be encoded for the scheme.
    init?(_ option: AuthenticationOption, _ credential: LoadCredential) {
        switch option.scheme {
        case .basic:
            guard
                let value = BasicAuthentication.fieldValue(
                    user: credential.user, password: credential.password,
                    isUTF8: BasicAuthentication.isUTF8(option.challenge))
            else { return nil }
            self = .basic(value)
        case .digest:
            guard let challenge = DigestChallenge(option.challenge),
                let session = DigestSession(
                    challenge, user: credential.user, password: credential.password, hash: MessageDigest.hash)
            else { return nil }
            self = .digest(session)
        case .negotiate, .ntlm: return nil
        }
    }

    /// The scope in which the proof is valid after it was accepted at `url` (AUTH-26).
    func scope(acceptedAt url: HTTPURL) -> AuthenticationScope {
        switch self {
        case .basic: .basic(acceptedAt: url)
        case .digest(let session): .digest(domain: session.challenge.domain, acceptedAt: url)
        // The whole server.
        case .connection: .digest(domain: nil, acceptedAt: url)
        }
    }
}

extension AuthenticationScheme {
    func fieldValue(_ token: [UInt8]) -> String { name + " " + Data(token).base64EncodedString() }

    var mechanism: GSSSecurityContext.Mechanism? {
        switch self {
        case .negotiate: .negotiate
        case .ntlm: .ntlm
        case .basic, .digest: nil
        }
    }
}

extension [AuthenticationChallenge] {
    /// The server's token for a step of this scheme; nil without one.
    func token(_ scheme: AuthenticationScheme) -> [UInt8]? {
        for challenge in self where AuthenticationScheme(challenge.scheme) == scheme {
            if let token = challenge.token.flatMap({ Data(base64Encoded: $0) }), !token.isEmpty {
                return [UInt8](token)
            }
        }
        return nil
    }
}

extension DigestSession {
    /// The credentials for one request. Nil if that is impossible, as with integrity protection of a body that can be
    /// read only once.
    ///
    /// - Parameter known: A hash of a body, if one was computed. That of another body is not used.
    mutating func answer(_ subject: AuthenticationSubject, knowing known: BodyDigest?) -> DigestCredentials? {
        var bodyDigest: [UInt8]?
        if let hash = bodyHash {
            switch subject.body {
            case .none: break
            case .bytes(let data):
                guard let digest = known?.isOf(data, hash) == true ? known : BodyDigest(data, hash) else { return nil }
                bodyDigest = digest.octets
            case .file, .stream: return nil
            }
        }
        return answer(
            method: subject.method, target: subject.target, bodyDigest: bodyDigest,
            clientNonce: Self.newClientNonce())
    }

    /// 128 unpredictable bits (AUTH-18).
    private static func newClientNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(generator.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }.joined()
    }
}

extension LoadBody {
    /// Whether the body is in memory and can be read before it is sent.
    var canBeHashed: Bool {
        switch self {
        case .none, .bytes: true
        case .file, .stream: false
        }
    }
}

/// One user's connections to a server (AUTH-19).
struct ConnectionProof {
    /// Separates the user's connections from those of others.
    let identity: UInt64
    /// The security context of the current authentication; nil after its last step.
    var conversation: GSSSecurityContext?
    /// The token for the next request.
    var token: [UInt8] = []
}
