import Foundation

/// A request as the server has received it.
struct Request: Sendable {
    var method: String
    var target: String
    /// In the order of the wire.
    var fields: [(name: String, value: String)]
    var body: Data
    /// The connection that it came on, counted from 0.
    var connection: Int

    var path: String { String(target.prefix { $0 != "?" }) }

    /// The values of a field, joined; nil without one.
    func value(_ name: String) -> String? {
        let values = fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}
