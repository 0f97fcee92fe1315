internal import FoundationEssentials

/// The keys of which a server's chain must have one (`NSPinnedDomains`), as SHA-256 digests of SubjectPublicKeyInfo.
package struct ServerPins: Sendable, Equatable {
    /// Of those that sign, anywhere above the leaf; nil if any will do.
    package var authorities: Set<[UInt8]>?
    /// Of the server itself; nil if any will do.
    package var leaves: Set<[UInt8]>?

    package init(authorities: Set<[UInt8]>? = nil, leaves: Set<[UInt8]>? = nil) {
        self.authorities = authorities
        self.leaves = leaves
    }

    /// What no server meets.
    static let unreadable = ServerPins(leaves: [])

    /// A domain that is pinned without pins, and a list in which nothing can be read, are met by no server: to pass over
    /// them would be to trust anybody because of a typing error.
    init(_ reader: inout PropertyListReader) {
        authorities = Self.digests("NSPinnedCAIdentities", &reader)
        leaves = Self.digests("NSPinnedLeafIdentities", &reader)
        if authorities == nil, leaves == nil {
            reader.report(.noPins)
            self = .unreadable
        }
    }

    /// - Parameter keys: Digests, that of the leaf first.
    func areMet(by keys: [[UInt8]]) -> Bool {
        if let authorities, authorities.isDisjoint(with: keys.dropFirst()) { return false }
        guard let leaves else { return true }
        return keys.first.map(leaves.contains) ?? false
    }

    private static func digests(_ key: String, _ reader: inout PropertyListReader) -> Set<[UInt8]>? {
        if !reader.contains(key) { return nil }
        var digests: Set<[UInt8]> = []
        for (index, item) in (reader.array(key) ?? []).enumerated() {
            if case .dictionary(let identity) = item, case .string(let text) = identity["SPKI-SHA256-BASE64"],
                // The decoder takes more padding than there should be.
                text.utf8.count == 44, let digest = Data(base64Encoded: text), digest.count == 32
            {
                digests.insert(Array(digest))
            } else {
                reader.report(.notDigest, about: key, "\(index)")
            }
        }
        if digests.isEmpty { reader.report(.noReadablePins, about: key) }
        return digests
    }
}
