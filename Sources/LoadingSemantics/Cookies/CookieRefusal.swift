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
}
