internal import Foundation
internal import LoadingSemantics

extension PropertyListValue {
    /// A value as `PropertyListSerialization`, `JSONSerialization` and literals have it.
    init(_ value: Any) {
        self =
            switch value {
            case let text as String: .string(text)
            // Foundation's numbers do not tell 1 from true on Linux, and nobody here needs to know.
            case let flag as Bool: .boolean(flag)
            case let number as Int: .integer(Int64(number))
            case let values as [Any]: .array(values.map { PropertyListValue($0) })
            case let values as [String: Any]: .dictionary(Self.values(of: values))
            default: .other
            }
    }

    static func values(of dictionary: [String: Any]) -> [String: PropertyListValue] {
        dictionary.mapValues { PropertyListValue($0) }
    }
}
