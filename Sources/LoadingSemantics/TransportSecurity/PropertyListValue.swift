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
