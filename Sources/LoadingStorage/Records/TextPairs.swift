internal import FoundationEssentials

/// Encodes pairs of strings as one value: the length of each in four bytes, then its bytes.
enum TextPairs {
    static func data(_ pairs: some Collection<(String, String)>) -> Data {
        var data = Data()
        for (first, second) in pairs {
            append(first, to: &data)
            append(second, to: &data)
        }
        return data
    }

    /// Returns nil if the data are malformed.
    static func pairs(_ data: Data) -> [(String, String)]? {
        var pairs: [(String, String)] = []
        var rest = data[...]
        while !rest.isEmpty {
            guard let first = take(&rest), let second = take(&rest) else { return nil }
            pairs.append((first, second))
        }
        return pairs
    }

    private static func append(_ text: String, to data: inout Data) {
        let count = UInt32(truncatingIfNeeded: text.utf8.count)
        withUnsafeBytes(of: count.littleEndian) { data.append(contentsOf: $0) }
        data.append(contentsOf: text.utf8)
    }

    private static func take(_ rest: inout Data) -> String? {
        guard rest.count >= 4 else { return nil }
        let count = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(4)
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return String(validating: rest.prefix(count), as: UTF8.self)
    }
}
