/// A challenge that the client can answer.
package struct AuthenticationOption: Sendable, Equatable {
    package var scheme: AuthenticationScheme
    package var challenge: AuthenticationChallenge

    package init(scheme: AuthenticationScheme, challenge: AuthenticationChallenge) {
        self.scheme = scheme
        self.challenge = challenge
    }

    /// The challenges that the client can answer, the preferred one first. If the delegate rejects one, it is offered
    /// the next (AUTH-5, AUTH-16).
    ///
    /// Within a scheme the order of the server applies. Digest challenges for one realm that differ only in their
    /// algorithm are one protection space, so only the first supported one is kept (RFC 7616 §3.7).
    ///
    /// - Parameters:
    ///   - possible: The schemes that can be used. Excludes those whose library is missing, and those that authenticate
    ///     a connection when requests share it (AUTH-19).
    ///   - hashes: The hash functions of the cryptographic library.
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
