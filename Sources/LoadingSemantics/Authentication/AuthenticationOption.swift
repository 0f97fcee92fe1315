/// A challenge that can be met.
package struct AuthenticationOption: Sendable, Equatable {
    package var scheme: AuthenticationScheme
    package var challenge: AuthenticationChallenge

    package init(scheme: AuthenticationScheme, challenge: AuthenticationChallenge) {
        self.scheme = scheme
        self.challenge = challenge
    }

    /// The challenges that can be met, the one to try first first; who rejects one is offered the next (AUTH-5,
    /// AUTH-16).
    ///
    /// Within a scheme the server's order counts. Of several Digest challenges for one realm, which differ in their
    /// algorithms, only the first that can be met is left (RFC 7616 §3.7): they are one protection space.
    ///
    /// - Parameters:
    ///   - possible: What can be used here and now: no scheme whose library is missing, none that authenticates
    ///     connections where requests share one (AUTH-19).
    ///   - hashes: What the cryptographic library offers.
    package static func options(
        for challenges: [AuthenticationChallenge], possible: Set<AuthenticationScheme>,
        hashes: Set<DigestHash> = Set(DigestHash.allCases)
    ) -> [AuthenticationOption] {
        AuthenticationScheme.byPreference.filter(possible.contains).flatMap { scheme in
            var realms: Set<String?> = []
            return challenges.compactMap { challenge -> AuthenticationOption? in
                guard AuthenticationScheme(challenge.scheme) == scheme else { return nil }
                if scheme == .digest {
                    guard let digest = DigestChallenge(challenge), hashes.contains(digest.algorithm.hash) else {
                        return nil
                    }
                }
                guard realms.insert(challenge.realm).inserted else { return nil }
                return AuthenticationOption(scheme: scheme, challenge: challenge)
            }
        }
    }
}
