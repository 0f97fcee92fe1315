/// Domains below which registries register names, such as `co.uk`: the ICANN section of the Public Suffix List.
/// Wildcard certificates directly below one are rejected. Domains of the private section, such as `github.io`, are not
/// included: each has one owner, who may have a wildcard certificate.
package struct RegistrySuffixes: Sendable {
    private let isListed: @Sendable (String) -> Bool?

    /// - Parameter isListed: Whether a domain of two or more labels is in the list; nil if there is no list. The domain
    ///   is lower-case ASCII, with labels from a certificate.
    package init(_ isListed: @escaping @Sendable (String) -> Bool?) { self.isListed = isListed }

    /// Without a list: a heuristic.
    package static let withoutList = RegistrySuffixes { _ in nil }

    package func contains(_ domain: String) -> Bool { isListed(domain) ?? Self.looksLikeOne(domain) }

    /// Heuristic: a common second-level label below a country code.
    private static func looksLikeOne(_ domain: String) -> Bool {
        let labels = domain.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard labels.count == 2, labels[1].count == 2 else { return labels.count < 2 }
        return usualWords.contains(String(Substring(labels[0])))
    }

    private static let usualWords: Set<String> = [
        "ac", "co", "com", "edu", "go", "gob", "gouv", "gov", "govt", "ltd", "mil", "ne", "net", "nom", "or", "org",
        "plc", "sch",
    ]
}
