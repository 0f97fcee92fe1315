/// A value of a property list or of JSON, as far as settings use it.
package enum PropertyListValue: Sendable, Equatable {
    case boolean(Bool)
    case integer(Int64)
    case string(String)
    case array([PropertyListValue])
    case dictionary([String: PropertyListValue])
    /// A date, data, a fraction or null.
    case other
}

/// Removes values from a dictionary by key, and reports invalid ones, which are ignored.
struct PropertyListReader {
    let path: [String]
    private var values: [String: PropertyListValue]
    private(set) var issues: [TransportSecurityIssue] = []

    init(_ values: [String: PropertyListValue], path: [String] = []) {
        self.values = values
        self.path = path
    }

    /// The remaining keys, sorted.
    var keys: [String] { values.keys.sorted() }

    func contains(_ key: String) -> Bool { values[key] != nil }

    mutating func report(_ reason: TransportSecurityIssue.Reason, about keys: String...) {
        issues.append(TransportSecurityIssue(path: path + keys, reason: reason))
    }

    mutating func take(issuesOf other: PropertyListReader) {
        issues += other.issues
    }

    /// Accepts 0 and 1, because some writers of property lists and JSON have no booleans.
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

    /// The contents of a nested dictionary.
    mutating func dictionary(_ key: String) -> PropertyListReader? {
        switch values.removeValue(forKey: key) {
        case nil: return nil
        case .dictionary(let value): return PropertyListReader(value, path: path + [key])
        default: report(.notDictionary, about: key)
        }
        return nil
    }

    /// Reports the remaining keys as unknown.
    mutating func finish() {
        for key in keys { report(.unknownKey, about: key) }
        values = [:]
    }
}
