internal import LoadingStorage

/// Which credentials of a storage are there because servers accepted them, and in which order. A server may send any
/// number of realms, so the least recently accepted ones are evicted. Those that the program has stored are not.
struct AcceptedCredentials {
    struct Key: Hashable {
        let space: ProtectionSpaceSnapshot.Values
        let user: String
    }

    private struct Use {
        var number: UInt64
        let isPersistent: Bool
    }

    /// The limit for session credentials. Permanent ones are expected in later processes, so they have more room.
    static let most = 256
    static let mostPersistent = 4096

    private var uses: [Key: Use] = [:]
    private var lastNumber: UInt64 = 0

    /// Notes that a server has accepted a credential. Returns the one to evict, if there are too many.
    mutating func add(_ key: Key, isPersistent: Bool) -> Key? {
        lastNumber += 1
        uses[key] = Use(number: lastNumber, isPersistent: isPersistent)
        let limit = isPersistent ? Self.mostPersistent : Self.most
        guard uses.count > limit else { return nil }
        let others = uses.lazy.filter { $0.value.isPersistent == isPersistent && $0.key != key }
        guard others.count(where: { _ in true }) >= limit else { return nil }
        // A server with many realms evicts its own credentials first.
        let evicted =
            Self.oldest(of: others.filter { $0.key.space.stored.host == key.space.stored.host })
            ?? Self.oldest(of: others)
        if let evicted { uses[evicted] = nil }
        return evicted
    }

    private static func oldest(of uses: some Sequence<(key: Key, value: Use)>) -> Key? {
        uses.min { $0.value.number < $1.value.number }?.key
    }

    func contains(_ key: Key) -> Bool { uses[key] != nil }

    mutating func remove(_ key: Key) { uses[key] = nil }
}
