/// The domains below which registries let others have names, such as `co.uk`: the part of the Public Suffix List that is
/// ICANN's. No certificate is for all that lies below one of them. Domains of hosters, such as `github.io`, are not
/// among them: they belong to one owner, who has certificates for all of it.
package struct RegistrySuffixes: Sendable {
    private let isListed: @Sendable (String) -> Bool?

    /// - Parameter isListed: Whether a domain of two labels or more is in the list, nil if there is no list. It gets
    ///   lower-case ASCII, but whatever labels a certificate has.
    package init(_ isListed: @escaping @Sendable (String) -> Bool?) { self.isListed = isListed }

    /// Where there is no list: domains that look like those of registries.
    package static let withoutList = RegistrySuffixes { _ in nil }

    package func contains(_ domain: String) -> Bool { isListed(domain) ?? Self.looksLikeOne(domain) }

    /// Whether a domain is made as most registries make theirs: a usual word below a country.
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
