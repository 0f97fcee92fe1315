package import FoundationEssentials

/// A column value.
package enum DatabaseValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob(Data)

    init(_ flag: Bool) { self = .integer(flag ? 1 : 0) }
    init(_ text: String?) { self = text.map { .text($0) } ?? .null }
    /// For identity columns: NULL is distinct from every value in a unique index, and 0 is not text.
    static func key(_ text: String?) -> DatabaseValue { text.map { .text($0) } ?? .integer(0) }
    /// SQLite stores NaN as NULL.
    init(_ number: Double?) { self = number.flatMap { $0.isNaN ? nil : .real($0) } ?? .null }

    package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    var flag: Bool? { integer.map { $0 != 0 } }
    var real: Double? { if case .real(let number) = self { number } else { nil } }
    package var text: String? { if case .text(let text) = self { text } else { nil } }
    package var blob: Data? { if case .blob(let data) = self { data } else { nil } }
    var isNull: Bool { self == .null }

    /// The approximate size in bytes.
    var size: Int {
        switch self {
        case .null: 1
        case .integer, .real: 8
        case .text(let text): text.utf8.count
        case .blob(let data): data.count
        }
    }
}
