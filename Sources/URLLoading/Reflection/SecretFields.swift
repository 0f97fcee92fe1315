/// Header fields whose values prove who somebody is, and have no place in a log.
enum SecretFields {
    /// Parts of names: of the standard's fields, and of those that services have of their own.
    private static let marks = ["auth", "cookie", "credential", "key", "passw", "secret", "signature", "token"]

    static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return marks.contains { name.contains($0) }
    }

    /// The fields, the values of those that are secret replaced.
    static func hidden(in fields: [String: String]?) -> [String: String]? {
        guard let fields else { return nil }
        return Dictionary(uniqueKeysWithValues: fields.map { ($0, isSecret($0) ? "(hidden)" : $1) })
    }
}
