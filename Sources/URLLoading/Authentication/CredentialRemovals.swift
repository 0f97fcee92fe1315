internal import LoadingStorage

/// What was removed last from a storage, so that a credential which a server accepts later is known to have been removed
/// meanwhile (AUTH-22).
struct CredentialRemovals {
    /// However the space was spelled.
    private struct Key: Hashable {
        let host: String
        let port: Int
        let user: String

        init(_ user: String, _ space: KnownSpace.Values) {
            host = space.stored.host.lowercased()
            port = space.stored.port
            self.user = user
        }
    }

    /// More are not told apart.
    private static let most = 1000

    private var numbers: [Key: Int] = [:]
    private var lastOfAll = 0

    /// - Parameter number: The larger the later.
    mutating func add(_ user: String, in space: KnownSpace.Values, number: Int) {
        if numbers.count >= Self.most { addAll(number: numbers.values.max() ?? 0) }
        let key = Key(user, space)
        numbers[key] = max(numbers[key] ?? 0, number)
    }

    mutating func addAll(number: Int) {
        numbers = [:]
        lastOfAll = max(lastOfAll, number)
    }

    /// Whether that user's credential was removed after the removal of that number.
    func hasAny(of user: String, in space: KnownSpace.Values, after number: Int) -> Bool {
        max(lastOfAll, numbers[Key(user, space)] ?? 0) > number
    }
}
