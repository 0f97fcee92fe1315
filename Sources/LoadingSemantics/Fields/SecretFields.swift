/// Header fields with credentials, whose values must not be logged.
package enum SecretFields {
    /// Substrings of the names of such fields, standard and custom ones.
    private static let marks = ["auth", "cookie", "credential", "key", "passw", "secret", "signature", "token"]

    package static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return marks.contains { name.contains($0) }
    }

    /// The value as descriptions show it.
    package static func shown(_ value: String, of name: String) -> String { isSecret(name) ? "(hidden)" : value }
}
