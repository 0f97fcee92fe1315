internal import Foundation
internal import LoadingSemantics

extension PropertyListValue {
    /// A value as `PropertyListSerialization`, `JSONSerialization` and literals have it.
    ///
    /// - Parameter depth: How deep it may go. Nothing that means anything goes deeper than that, and an `NSMutableArray` may
    ///   be in itself.
    init(_ value: Any, depth: Int = 8) {
        self =
            switch value {
            case let text as String: .string(text)
            // Foundation's numbers do not tell 1 from true on Linux, and nobody here needs to know.
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
