internal import LoadingStorage

/// The latest removals from a storage. Detects that a credential was removed before a server accepted it (AUTH-22).
struct CredentialRemovals {
    /// Normalized, so that equivalent spaces are equal.
    private struct Key: Hashable {
        let host: String
        let port: Int
        let user: String

        init(_ user: String, _ space: ProtectionSpaceSnapshot.Values) {
            host = space.stored.host
            port = space.stored.port
            self.user = user
        }
    }

    /// The maximum number of distinguished removals.
    private static let most = 1000

    private var numbers: [Key: Int] = [:]
    private var lastOfAll = 0

    /// - Parameter number: Increases with each removal.
    mutating func add(_ user: String, in space: ProtectionSpaceSnapshot.Values, number: Int) {
        if numbers.count >= Self.most { addAll(number: numbers.values.max() ?? 0) }
        let key = Key(user, space)
        numbers[key] = max(numbers[key] ?? 0, number)
    }

    mutating func addAll(number: Int) {
        numbers = [:]
        lastOfAll = max(lastOfAll, number)
    }

    /// Whether the user's credential was removed after the removal with that number.
    func hasAny(of user: String, in space: ProtectionSpaceSnapshot.Values, after number: Int) -> Bool {
        max(lastOfAll, numbers[Key(user, space)] ?? 0) > number
    }
}
