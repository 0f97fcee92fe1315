/// The key of a cookie in a jar (RFC 6265bis §5.7 step 23; COOK-15).
package struct CookieIdentity: Sendable, Hashable {
    package var partition: String?
    package var domain: String
    package var isHostOnly: Bool
    package var path: String
    package var name: String

    package init(partition: String? = nil, domain: String, isHostOnly: Bool, path: String, name: String) {
        self.partition = partition
        self.domain = domain
        self.isHostOnly = isHostOnly
        self.path = path
        self.name = name
    }
    package static func == (left: CookieIdentity, right: CookieIdentity) -> Bool {
        left.isHostOnly == right.isHostOnly && left.partition == right.partition
            && CookieText.areSame(left.name, right.name) && CookieText.areSame(left.path, right.path)
            && CookieText.areSame(left.domain, right.domain)
    }

    /// Hashes the strings themselves. `fingerprint` is not seeded, so servers could choose names that collide.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(name)
        hasher.combine(path)
        hasher.combine(domain)
        hasher.combine(partition)
        hasher.combine(isHostOnly)
    }

    /// Equal for equal identities, and usually different for others. Not collision-resistant, so used only among the
    /// few cookies of one site.
    var fingerprint: UInt64 {
        var result: UInt64 = isHostOnly ? 0xCBF2_9CE4_8422_2325 : 0x8422_2325_CBF2_9CE4
        for text in [name, path, domain] {
            // 0xFF does not occur in UTF-8, so it separates the strings.
            for byte in text.utf8 { result = (result ^ UInt64(byte)) &* 0x100_0000_01B3 }
            result = (result ^ 0xFF) &* 0x100_0000_01B3
        }
        return result
    }
}
