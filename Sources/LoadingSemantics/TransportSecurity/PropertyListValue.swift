/// A value of a property list or of JSON, as far as settings are made of them.
package enum PropertyListValue: Sendable, Equatable {
    case boolean(Bool)
    case integer(Int64)
    case string(String)
    case array([PropertyListValue])
    case dictionary([String: PropertyListValue])
    /// A date, data, a number with a fraction, null.
    case other
}
