/// Takes the values of a dictionary by their keys, and complains about what is not as it should be: such a value
/// counts as not there.
struct PropertyListReader {
    let path: [String]
    private var values: [String: PropertyListValue]
    private(set) var issues: [TransportSecurityIssue] = []

    init(_ values: [String: PropertyListValue], path: [String] = []) {
        self.values = values
        self.path = path
    }

    /// Of those that have not been taken, in order.
    var keys: [String] { values.keys.sorted() }

    func contains(_ key: String) -> Bool { values[key] != nil }

    mutating func report(_ reason: TransportSecurityIssue.Reason, about keys: String...) {
        issues.append(TransportSecurityIssue(path: path + keys, reason: reason))
    }

    mutating func take(issuesOf other: PropertyListReader) {
        issues += other.issues
    }

    /// 0 and 1 will do: not everything that writes property lists or JSON knows booleans.
    mutating func boolean(_ key: String) -> Bool? {
        switch values.removeValue(forKey: key) {
        case nil: return nil
        case .boolean(let value): return value
        case .integer(0): return false
        case .integer(1): return true
        default: report(.notBoolean, about: key)
        }
        return nil
    }

    mutating func string(_ key: String) -> String? {
        switch values.removeValue(forKey: key) {
        case nil: return nil
        case .string(let value): return value
        default: report(.notString, about: key)
        }
        return nil
    }

    mutating func array(_ key: String) -> [PropertyListValue]? {
        switch values.removeValue(forKey: key) {
        case nil: return nil
        case .array(let value): return value
        default: report(.notArray, about: key)
        }
        return nil
    }

    /// What a dictionary within this one holds.
    mutating func dictionary(_ key: String) -> PropertyListReader? {
        switch values.removeValue(forKey: key) {
        case nil: return nil
        case .dictionary(let value): return PropertyListReader(value, path: path + [key])
        default: report(.notDictionary, about: key)
        }
        return nil
    }

    /// Nothing more will be taken: what is left is known to nobody.
    mutating func finish() {
        for key in keys { report(.unknownKey, about: key) }
        values = [:]
    }
}
