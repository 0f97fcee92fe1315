internal import Foundation
internal import LoadingSemantics

extension PropertyListValue {
    /// Converts a value of `PropertyListSerialization`, `JSONSerialization` or a literal.
    ///
    /// - Parameter depth: The maximum nesting depth. An `NSMutableArray` may contain itself.
    init(_ value: Any, depth: Int = 8) {
        self =
            switch value {
            case let text as String: .string(text)
            // On Linux NSNumber does not distinguish 1 from true. The distinction is not needed here.
            case let flag as Bool: .boolean(flag)
            case let number as Int: .integer(Int64(number))
            case let values as [Any] where depth > 0: .array(values.map { PropertyListValue($0, depth: depth - 1) })
            case let values as [String: Any] where depth > 0: .dictionary(Self.values(of: values, depth: depth - 1))
            default: .other
            }
    }

    static func values(of dictionary: [String: Any], depth: Int = 8) -> [String: PropertyListValue] {
        dictionary.mapValues { PropertyListValue($0, depth: depth) }
    }
}
