import Foundation
import LoadingSemantics
import LoadingTransport
import TestSupport

/// The server side of Digest authentication (RFC 7616), implemented independently of the client's.
final class DigestAuthResponder: Sendable {
    struct Rules: Sendable {
        var algorithm: String? = "MD5"
        var qop: String? = "auth"
        var realm = "r"
        var user = "Mufasa"
        var password = "Circle of Life"
        /// Further parameters of the challenge.
        var more = ""
        /// How often a nonce can be used before it is stale.
        var uses = Int.max
        /// Whether each response has a `nextnonce`.
        var announcesNonces = false
        /// Changes the server's `rspauth` value.
        var proof: @Sendable (String) -> String = { $0 }
        /// Whether this is a server or a proxy.
        var source = ChallengeSource.server
    }

    private struct State {
        var nonce = 1
        var uses = 0
    }

    let rules: Rules
    /// The nonce count and the result of each request.
    let verdicts = EventRecorder<String>()
    private let state = Watched(State())

    init(_ rules: Rules = Rules()) { self.rules = rules }

    func answer(_ request: ReceivedRequest) -> CannedResponse {
        guard let field = request[rules.source.credentialField], field.hasPrefix("Digest ") else {
            return refuse("-", isStale: false)
        }
        let said = Self.parameters(field)
        let count = said["nc"] ?? "no nc"
        guard said["nonce"] == "n\(state.current.nonce)", state.current.uses < rules.uses else {
            state.withValue { $0 = State(nonce: $0.nonce + 1) }
            return refuse("\(count) stale", isStale: true)
        }
        guard said["response"] == response(said, request.method, request), said["uri"] == request.target,
            said["username"] == expectedUser(said), said["opaque"] == "o"
        else { return refuse("\(count) wrong", isStale: false) }
        verdicts.record("\(request.target) \(count) n\(state.current.nonce)")
        var info = ["qop=auth", "nc=\(count)", "cnonce=\"\(said["cnonce"] ?? "")\""]
        info.append("rspauth=\"\(rules.proof(response(said, "", request)))\"")
        state.withValue { state in
            state.uses += 1
            if rules.announcesNonces { state = State(nonce: state.nonce + 1) }
        }
        if rules.announcesNonces { info.append("nextnonce=\"n\(state.current.nonce)\"") }
        let answer = CannedResponse.text("in")
        return rules.qop == "auth"
            ? answer.with(field: rules.source.infoField, info.joined(separator: ", ")) : answer
    }

    private func refuse(_ verdict: String, isStale: Bool) -> CannedResponse {
        verdicts.record(verdict)
        var challenge = "Digest realm=\"\(rules.realm)\", nonce=\"n\(state.current.nonce)\", opaque=\"o\""
        if let qop = rules.qop { challenge += ", qop=\"\(qop)\"" }
        if let algorithm = rules.algorithm { challenge += ", algorithm=\(algorithm)" }
        if isStale { challenge += ", stale=true" }
        return CannedResponse.text("who are you?", status: rules.source == .server ? 401 : 407)
            .with(field: rules.source.challengeField, challenge + rules.more)
    }

    private func expectedUser(_ said: [String: String]) -> String {
        said["userhash"] == "true" ? hash("\(rules.user):\(rules.realm)") : rules.user
    }

    private func response(_ said: [String: String], _ method: String, _ request: ReceivedRequest) -> String {
        let (nonce, cnonce) = (said["nonce"] ?? "", said["cnonce"] ?? "")
        var secret = hash("\(rules.user):\(rules.realm):\(rules.password)")
        if rules.algorithm?.hasSuffix("-sess") == true { secret = hash("\(secret):\(nonce):\(cnonce)") }
        var what = "\(method):\(request.target)"
        if said["qop"] == "auth-int" { what += ":" + hash(request.bodyText) }
        guard let qop = said["qop"] else { return hash("\(secret):\(nonce):\(hash(what))") }
        return hash("\(secret):\(nonce):\(said["nc"] ?? ""):\(cnonce):\(qop):\(hash(what))")
    }

    private func hash(_ text: String) -> String {
        let name = rules.algorithm ?? "MD5"
        let function: DigestHash = name.hasPrefix("MD5") ? .md5 : name.hasPrefix("SHA-256") ? .sha256 : .sha512_256
        return (MessageDigest.hash(function, Array(text.utf8)) ?? []).map { String(format: "%02x", $0) }.joined()
    }

    /// Name and value of each parameter, without quotes.
    static func parameters(_ field: String) -> [String: String] {
        Dictionary(
            field.dropFirst("Digest ".count).components(separatedBy: ", ").compactMap { pair in
                let parts = pair.split(separator: "=", maxSplits: 1).map(String.init)
                guard parts.count == 2 else { return nil }
                return (parts[0], parts[1].trimmingCharacters(in: CharacterSet(charactersIn: "\"")))
            }, uniquingKeysWith: { $1 })
    }
}
