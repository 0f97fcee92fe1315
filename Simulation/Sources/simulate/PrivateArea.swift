import CSimulation
import Foundation

/// The passwords of the world, by what they are for.
enum Password {
    static func user(of host: String) -> String { "user of \(host)" }
    static func right(_ scheme: String, _ host: String) -> String { "secret of \(scheme)://\(host)" }
    /// What the program sends as Authorization by itself.
    static func token(of host: String) -> String { "Bearer of \(host)" }
    static func wrong(_ scheme: String, _ host: String) -> String { "nothing of \(scheme)://\(host)" }
}

/// The part of a server that has a password: Basic and Digest (RFC 7617, RFC 7616). What it is asked with has to be its
/// own.
final class PrivateArea {
    private let host: String
    /// The counts with which each nonce came.
    private var nonces: [String: Set<Int>] = [:]
    /// After so many requests a nonce is stale.
    private let uses: Int

    init(of host: String) {
        self.host = host
        let choices = Choices("nonces of \(host)")
        uses = choices.oneIn(2) ? 2 + choices.below(4) : .max
    }

    private var realm: String { "area of \(host)" }

    enum Verdict { case isRight, isWrong, isStale }

    /// Nil if the request has the right password.
    func challenge(after verdict: Verdict, isDigest: Bool, _ choices: Choices) -> OriginServer.Response? {
        if verdict == .isRight { return nil }
        guard isDigest else {
            return Self.refusal("Basic realm=\"\(realm)\", charset=\"UTF-8\"")
        }
        let nonce = "\(host) \(nonces.count)"
        nonces[nonce] = []
        let isStale = verdict == .isStale
        let algorithm = choices.pick(["MD5", "SHA-256"])
        return Self.refusal(
            "Digest realm=\"\(realm)\", nonce=\"\(nonce)\", qop=\"auth\", algorithm=\(algorithm)"
                + (isStale ? ", stale=true" : ""))
    }

    private static func refusal(_ challenge: String) -> OriginServer.Response {
        OriginServer.Response(
            status: 401, fields: [("WWW-Authenticate", challenge), ("Cache-Control", "no-store")],
            body: Array("a password is needed".utf8))
    }

    /// Of every request, once, also where no password is needed.
    func verdict(on request: OriginServer.Request) -> Verdict {
        let verdicts = request.values(of: "authorization").map { judge($0, of: request) }
        return verdicts.contains(.isRight) ? .isRight : verdicts.contains(.isStale) ? .isStale : .isWrong
    }

    private func judge(_ field: String, of request: OriginServer.Request) -> Verdict {
        let scheme = request.isSecure ? "https" : "http"
        let user = Password.user(of: host)
        let right = Password.right(scheme, host), wrong = Password.wrong(scheme, host)
        let law = "credentials reach only what they are for: \(field) at \(scheme)://\(host)"
        if field.hasPrefix("Bearer ") {
            Law.require(field == Password.token(of: host), law)
            return .isWrong
        }
        if field.hasPrefix("Basic ") {
            let plain = Data(base64Encoded: String(field.dropFirst(6))).map { String(decoding: $0, as: UTF8.self) }
            Law.require(plain == "\(user):\(right)" || plain == "\(user):\(wrong)", law)
            return plain == "\(user):\(right)" ? .isRight : .isWrong
        }
        let parameters = Self.parameters(of: field)
        func value(_ name: String) -> String { parameters[name] ?? "" }
        Law.require(field.hasPrefix("Digest ") && value("username") == user && value("realm") == realm, law)
        Law.require(value("uri") == request.target, "the uri of Digest is that of the request: \(field)")
        let algorithm = value("algorithm") == "SHA-256" ? "SHA256" : "MD5"
        func response(_ password: String) -> String {
            let a1 = Digest.hexadecimal(of: "\(user):\(realm):\(password)", algorithm)
            let a2 = Digest.hexadecimal(of: "\(request.method):\(request.target)", algorithm)
            let between = "\(value("nonce")):\(value("nc")):\(value("cnonce")):\(value("qop"))"
            return Digest.hexadecimal(of: "\(a1):\(between):\(a2)", algorithm)
        }
        let isRight = value("response") == response(right)
        Law.require(isRight || value("response") == response(wrong), law)
        let count = Int(value("nc"), radix: 16) ?? 0
        guard let known = nonces[value("nonce")] else {
            Law.require(false, "a nonce is of the server: \(field)")
            return .isWrong
        }
        Law.require(count > 0, "a count of a nonce begins with 1: \(field)")
        Law.require(!known.contains(count), "a count of a nonce comes once: \(field)")
        nonces[value("nonce")] = known.union([count])
        guard isRight else { return .isWrong }
        return known.count < uses && known.allSatisfy { $0 < count } ? .isRight : .isStale
    }

    private static func parameters(of field: String) -> [String: String] {
        var result: [String: String] = [:]
        for parameter in field.dropFirst(7).split(separator: ",") {
            let parts = parameter.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            if parts.count == 2 { result[parts[0]] = parts[1].trimmingCharacters(in: ["\""]) }
        }
        return result
    }
}
