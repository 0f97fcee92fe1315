internal import Foundation

/// Resume data as this library writes it: a binary property list (RES-10).
enum ResumePropertyList {
    private static let mark = Data("bplist00".utf8)

    /// Nil if `data` is anything else. Lists in XML are not even read: Foundation's decoder needs stack for each of
    /// their levels, and resume data is untrusted.
    static func decode<Value: Decodable>(_ data: Data) -> Value? {
        guard data.starts(with: mark) else { return nil }
        return try? PropertyListDecoder().decode(Value.self, from: data)
    }

    static func encode(_ value: some Encodable) -> Data? {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return try? encoder.encode(value)
    }
}
