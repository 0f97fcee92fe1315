package import FoundationEssentials
internal import LoadingConnections
package import LoadingEvents
package import LoadingSemantics
internal import LoadingTransport

/// One report of a transfer. Reports are numbered from 1 without gaps, so that a receiver that reconnects knows which
/// reports it has (BG-6, BG-12).
package struct TransferReport: Codable, Equatable, Sendable {
    package var number: UInt64
    package var event: Event

    package init(number: UInt64, event: Event) {
        self.number = number
        self.event = event
    }

    package enum Event: Codable, Equatable, Sendable {
        case waitingForConnectivity
        /// The request was upgraded to this `https` URL, which is otherwise the same.
        case upgraded(url: String)
        /// A redirect was followed (BG-4).
        case redirected(TransferHead, url: String)
        /// A server or a proxy has sent a challenge. The transfer waits for the `TransferAnswer` to it.
        case challenge(TransferChallenge)
        /// The last challenge needs no answer any more.
        case challengeWithdrawn
        /// The response, the length of the resulting file (−1 if unknown), and how many bytes of it already exist.
        case response(TransferHead, expectedLength: Int64, resumedOffset: Int64)
        case progress(TransferProgress)
        case metrics(TransferMetrics)
        /// The end: the file with the body.
        case finished(file: String)
        /// The end: an error, and the point at which another transfer can resume.
        case failed(TransferFailure, TransferResumption?)

        /// Whether no report follows.
        package var isEnd: Bool {
            switch self {
            case .finished, .failed: true
            default: false
            }
        }
    }
}

/// The head of a response.
package struct TransferHead: Codable, Equatable, Sendable {
    package var url: String
    package var status: Int
    package var fields: [TransferField]
    /// What redirects have made of the request, this one included if it is one. Nil if there were none, and in
    /// journals of earlier versions.
    package var redirects: RedirectChanges?

    package init(_ head: ResponseHead, url: String, redirects: RedirectChanges? = nil) {
        self.url = url
        status = head.status
        fields = [TransferField](head.fields)
        self.redirects = redirects
    }
}

/// What redirects have made of a request.
package struct RedirectChanges: Codable, Equatable, Sendable {
    /// The target of the last one, as it was loaded: perhaps upgraded to a secure URL (TLS-7).
    package var url: String
    package var method: String
    package var hasBody: Bool
    /// The names of the fields that were removed.
    package var droppedFields: [String]

    /// - Parameters:
    ///   - request: The request before the last redirect.
    ///   - earlier: The changes of the redirects before.
    init(from request: LoadRequest, to next: LoadRequest, after earlier: RedirectChanges?) {
        url = next.urlText
        method = next.method
        hasBody = next.hasBody
        let names = (0..<request.fields.count).map { request.fields.name(at: $0) }
        droppedFields = (earlier?.droppedFields ?? []) + names.filter { !next.fields.contains($0) }
    }
}

/// The totals of both bodies, in bytes; −1 for a total that is not known yet.
package struct TransferProgress: Codable, Equatable, Sendable {
    package var sent: Int64 = 0
    package var toSend: Int64 = -1
    package var received: Int64 = 0
    package var toReceive: Int64 = -1

    package init(sent: Int64 = 0, toSend: Int64 = -1, received: Int64 = 0, toReceive: Int64 = -1) {
        (self.sent, self.toSend, self.received, self.toReceive) = (sent, toSend, received, toReceive)
    }
}

package struct TransferChallenge: Codable, Equatable, Sendable {
    package enum Peer: String, Codable, Sendable {
        case server
        case proxy
    }

    package enum Scheme: String, Codable, Sendable {
        case basic
        case digest
        case ntlm
        case negotiate
        /// The certificates of a server in the handshake (TLS-1).
        case serverTrust
        /// A server asks for the client's certificate in the handshake (AUTH-31).
        case clientCertificate
    }

    /// Distinguishes it from all other challenges, also from those of other processes that ask the same.
    package var identifier = UInt64.random(in: 1...UInt64.max)
    package var peer: Peer
    /// "http", "https", or "socks".
    package var kind: String
    package var host: String
    package var port: UInt16
    package var realm: String?
    package var scheme: Scheme
    /// The user of the proposed credential. A client may combine it with its own password.
    package var proposedUser: String?
    package var failures: Int
    /// For `serverTrust`: the chain in DER, the leaf first, and the stapled OCSP response.
    package var certificates: [Data] = []
    package var stapledResponse: Data?
    /// For `clientCertificate`: the accepted issuers, each in DER.
    package var distinguishedNames: [Data]?

    /// In the handshake of a connection.
    private init(_ scheme: Scheme, of key: ConnectionKey) {
        peer = .server
        kind = "https"
        host = key.host
        port = key.port
        self.scheme = scheme
        failures = 0
    }

    init(_ peer: TLSPeer, of key: ConnectionKey) {
        self.init(.serverTrust, of: key)
        certificates = peer.chain.certificates.map { Data($0.der) }
        stapledResponse = peer.stapledResponse.map { Data($0) }
    }

    init(_ request: TLSIdentityRequest, of key: ConnectionKey) {
        self.init(.clientCertificate, of: key)
        distinguishedNames = request.distinguishedNames.map { Data($0) }
    }

    init(_ question: AuthenticationQuestion) {
        let space = question.space
        switch space.kind {
        case .server(let kind):
            peer = .server
            self.kind = "\(kind)"
        case .proxy(let kind):
            peer = .proxy
            self.kind = "\(kind)"
        }
        host = space.host
        port = space.port
        realm = space.effectiveRealm
        scheme =
            switch space.scheme {
            case .basic: .basic
            case .digest: .digest
            case .ntlm: .ntlm
            case .negotiate: .negotiate
            }
        proposedUser = question.proposal?.user
        failures = question.failures
    }

    /// Whether an answer to the other challenge is one to this challenge too.
    package func asksTheSame(as other: TransferChallenge) -> Bool {
        var copy = self
        copy.identifier = other.identifier
        return copy == other
    }
}

/// The answer to a challenge.
package struct TransferAnswer: Codable, Equatable, Sendable {
    /// The identifier of the challenge. An answer to another one is dropped.
    package var challenge: UInt64
    package var decision: Decision

    package enum Decision: Codable, Equatable, Sendable {
        case credential(user: String, password: String, isKept: Bool)
        case defaultHandling
        case rejectProtectionSpace
        case cancel
        /// The server is trusted, whatever the result of an evaluation.
        ///
        /// `isEvaluated`: whether the default evaluation was made and trusts the server too.
        case trust(isEvaluated: Bool)
        /// The server is not trusted.
        case distrust
        /// The client's certificate and its intermediates in DER, the leaf first, and the private key.
        case identity(certificates: [Data], key: Data)
    }

    package init(to challenge: UInt64, decision: Decision) {
        self.challenge = challenge
        self.decision = decision
    }
}

/// The source values of a task's metrics (BG-25).
package struct TransferMetrics: Codable, Equatable, Sendable {
    /// The time of the start on the monotonic clock, in nanoseconds, and the same time in seconds since 1970.
    package var created: Int64
    package var createdWall: Double
    package var events: [LoadEvent]
}

package struct TransferFailure: Codable, Equatable, Sendable {
    /// The code in `NSURLErrorDomain`.
    package var code: Int
    /// The URL that failed, if it differs from the request's.
    package var url: String?
    package var reason: String?
    /// The server or proxy whose certificates were refused, if that is the failure (TLS-5).
    package var untrustedPeer: Peer?

    /// An `UntrustedPeer`.
    package struct Peer: Codable, Equatable, Sendable {
        package let host: String
        /// In DER, the leaf first.
        package let certificates: [Data]
        package let stapledResponse: Data

        init(_ peer: UntrustedPeer) {
            host = peer.host
            certificates = peer.certificates.map { Data($0) }
            stapledResponse = Data(peer.stapledResponse)
        }

        package var value: UntrustedPeer {
            UntrustedPeer(
                host: host, certificates: certificates.map { [UInt8]($0) }, stapledResponse: [UInt8](stapledResponse))
        }
    }

    package init(code: Int, reason: String? = nil) {
        self.code = code
        self.reason = reason
    }

    package init(_ error: LoadError) {
        code = error.code
        url = error.url
        reason = error.cause.map { "\($0)" }
        untrustedPeer = error.untrustedPeer.map { Peer($0) }
    }
}
