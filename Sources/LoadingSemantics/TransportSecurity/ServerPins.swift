internal import FoundationEssentials

/// Pinned keys (`NSPinnedDomains`), as SHA-256 digests of SubjectPublicKeyInfo. A chain must contain one of each set.
package struct ServerPins: Sendable, Equatable {
    /// Keys of CAs, anywhere above the leaf; nil if CAs are not pinned.
    package var authorities: Set<[UInt8]>?
    /// Keys of the leaf; nil if the leaf is not pinned.
    package var leaves: Set<[UInt8]>?

    package init(authorities: Set<[UInt8]>? = nil, leaves: Set<[UInt8]>? = nil) {
        self.authorities = authorities
        self.leaves = leaves
    }

    /// Pins that no server satisfies.
    static let unreadable = ServerPins(leaves: [])

    /// A pinned domain without pins, or with a list that has no valid pin, is satisfied by no server. Ignoring it would
    /// trust any server because of a typing error.
    init(_ reader: inout PropertyListReader) {
        authorities = Self.digests("NSPinnedCAIdentities", &reader)
        leaves = Self.digests("NSPinnedLeafIdentities", &reader)
        if authorities == nil, leaves == nil {
            reader.report(.noPins)
            self = .unreadable
        }
    }

    /// - Parameter keys: Key digests of the chain, the leaf first.
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
                // The decoder accepts excess padding.
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
