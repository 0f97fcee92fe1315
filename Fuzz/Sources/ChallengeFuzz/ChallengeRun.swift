import LoadingSemantics

/// What must hold for the challenges in any fields.
enum ChallengeRun {
    private typealias Limit = AuthenticationChallenge.Limit

    static func check(_ lines: [String]) {
        let all = read(lines)
        precondition(all.count <= Limit.challenges, "more challenges than allowed")
        for challenge in all { check(challenge) }

        // Each field is read alone.
        precondition(all == Array(lines.flatMap { read([$0]) }.prefix(Limit.challenges)), "a field harms another")
        if all.count < Limit.challenges {
            precondition(read(lines + ["NTLM"]) == all + [AuthenticationChallenge(scheme: "ntlm")], "one is hidden")
        }
        // A good neighbour in front stays whole, and takes nothing that is not its own.
        if let line = lines.first {
            let more = read(["Basic realm=\"x\", " + line])
            precondition(more.first?.scheme == "basic" && more.first?.realm == "x", "the neighbour is lost")
        }
        // What stands in front of the first means nothing.
        precondition(all == read(lines.map { " \t,, \($0)" }), "white space changes what is read")
        // What was read, written anew, reads the same, in one field or several.
        let written = all.map(write)
        precondition(read(written) == all, "not the same when written anew")
        precondition(read([written.joined(separator: ", ")]) == all, "not the same in one field")

        for scheme in AuthenticationScheme.allCases {
            let options = AuthenticationOption.options(for: all, possible: [scheme])
            precondition(options.allSatisfy { all.contains($0.challenge) && $0.scheme == scheme }, "not offered")
            precondition(Set(options.map(\.challenge.realm)).count == options.count, "one realm twice")
        }
        _ = AuthenticationInfo(HTTPFields(lines.map { ("Authentication-Info", $0) }), of: .server)?.nextNonce
    }

    private static func check(_ challenge: AuthenticationChallenge) {
        precondition(isToken(challenge.scheme), "a scheme that is none")
        precondition(challenge.token?.isEmpty != true, "an empty token")
        precondition(challenge.parameters.all.count <= Limit.parametersOfEach, "more parameters than allowed")
        precondition(challenge.parameters.all.allSatisfy { isToken($0.name) }, "a parameter without a name")
        if let digest = DigestChallenge(challenge) {
            precondition(challenge.scheme == "digest" && challenge.parameters["nonce"] == digest.nonce, "no digest")
        }
    }

    /// In lower case.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte > 0x20 && byte < 0x7F && !(0x41...0x5A).contains(byte)
                    && !"\"(),/:;<=>?@[\\]{}".utf8.contains(byte)
            }
    }

    private static func read(_ lines: [String]) -> [AuthenticationChallenge] {
        AuthenticationChallenge.all(in: HTTPFields(lines.map { ("WWW-Authenticate", $0) }), of: .server)
    }

    private static func write(_ challenge: AuthenticationChallenge) -> String {
        let parameters = challenge.parameters.all.map { parameter in
            let escaped = parameter.value.utf8.flatMap { byte in
                byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") ? [UInt8(ascii: "\\"), byte] : [byte]
            }
            return parameter.name + "=\"" + String(decoding: escaped, as: UTF8.self) + "\""
        }.joined(separator: ", ")
        guard let token = challenge.token else {
            return parameters.isEmpty ? challenge.scheme : challenge.scheme + " " + parameters
        }
        return challenge.scheme + " " + token + (parameters.isEmpty ? "" : ", " + parameters)
    }
}
