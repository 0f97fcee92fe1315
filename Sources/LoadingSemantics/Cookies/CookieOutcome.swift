/// The result of storing a cookie, for a copy of the jar on disk to follow.
package enum CookieOutcome: Sendable, Equatable {
    /// The cookie is stored, and replaces the one with its identity. The `evicted` cookies were removed to make room.
    case stored(Cookie, evicted: [CookieIdentity])
    /// The cookie had expired, by which a server deletes it. The stored one was removed.
    case removed(CookieIdentity)
    /// The cookie had expired, and none was stored. The copy may still contain one that the jar has not read.
    case nothing(CookieIdentity)
    case refused(CookieRefusal)

    /// One word for people.
    package var word: String {
        switch self {
        case .stored: "stored"
        case .removed, .nothing: "removed"
        case .refused: "refused"
        }
    }
}

/// Why a cookie is rejected.
package enum CookieRefusal: Error, Sendable, Equatable, CaseIterable {
    /// A control character, or a semicolon in a cookie that was not parsed from a field.
    case badCharacter
    /// The name is empty, or the "=" is missing (COOK-1).
    case missingName
    /// Name and value, path, or domain exceed their limits.
    case tooLong
    /// The domain is neither the host of the response nor a parent of it.
    case domainMismatch
    /// The domain is a public suffix.
    case publicSuffix
    /// `Secure` over an insecure connection.
    case insecureOrigin
    /// Over an insecure connection, and would hide a secure cookie of the same name.
    case hidesSecureCookie
    /// `SameSite=Lax` or `Strict` in a cross-site response.
    case crossSite
    /// `SameSite=None` without `Secure`.
    case sameSiteNoneWithoutSecure
    /// The cookie does not have the properties that its name prefix requires.
    case prefixViolation
    /// `Partitioned` without `Secure`, or without a partition (COOK-24).
    case missingPartition
    /// Rejected by the accept policy.
    case policy

    /// In words for people.
    package var reason: String {
        switch self {
        case .badCharacter: "it has a control character"
        case .missingName: "it has no name"
        case .tooLong: "it is too long"
        case .domainMismatch: "the response is of another domain"
        case .publicSuffix: "the domain is a public suffix"
        case .insecureOrigin: "Secure over an insecure connection"
        case .hidesSecureCookie: "it would hide a secure cookie"
        case .crossSite: "SameSite in a cross-site response"
        case .sameSiteNoneWithoutSecure: "SameSite=None without Secure"
        case .prefixViolation: "it lacks what the prefix of its name requires"
        case .missingPartition: "Partitioned without Secure, or without a partition"
        case .policy: "the accept policy"
        }
    }
}
