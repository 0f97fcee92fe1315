/// Why a cookie is not taken.
package enum CookieRefusal: Error, Sendable, Equatable, CaseIterable {
    /// A control character, or a semicolon in a cookie that did not come in a field.
    case badCharacter
    /// No name, or no "=" that would part it from a value (COOK-1).
    case nameless
    /// Name and value, the path, or the domain have more octets than allowed.
    case tooLong
    /// The domain is not the host that sent the cookie, nor one above it.
    case foreignDomain
    /// The domain is one under which strangers have theirs.
    case publicSuffix
    /// `Secure`, from a server that could not have kept it secret.
    case insecureOrigin
    /// It would stand before a secure cookie of that name, and comes over a connection that anyone can write to.
    case hidesSecureCookie
    /// It is for its own site alone, and came in a document of another.
    case crossSite
    /// `SameSite=None` without `Secure`.
    case sameSiteNoneWithoutSecure
    /// The name begins with what promises more than the cookie keeps.
    case brokenPrefix
    /// `Partitioned` without `Secure`, or without a partition to put it in (COOK-24).
    case noPartition
    /// The accept policy.
    case policy
}
