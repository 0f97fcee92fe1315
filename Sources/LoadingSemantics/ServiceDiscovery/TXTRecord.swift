/// The data of a TXT record with key and value pairs (RFC 6763 §6).
package enum TXTRecord {
    /// A TXT record has 65,535 bytes at most (RFC 1035 §3.2.1).
    private static let longest = 65_535

    /// The record of these strings; nil if one has more than 255 bytes or all are too long.
    package static func data(of strings: [[UInt8]]) -> [UInt8]? {
        // Without strings it is one empty string (RFC 6763 §6.1).
        if strings.isEmpty { return [0] }
        var data: [UInt8] = []
        for string in strings {
            guard let length = UInt8(exactly: string.count) else { return nil }
            data.append(length)
            data += string
            if data.count > longest { return nil }
        }
        return data
    }

    /// The strings of a record, without empty ones, as far as it is complete.
    package static func strings(in data: some Collection<UInt8>) -> [[UInt8]] {
        var strings: [[UInt8]] = []
        var rest = data[...].prefix(longest)
        while let length = rest.popFirst() {
            guard rest.count >= Int(length) else { break }
            if length > 0 { strings.append(Array(rest.prefix(Int(length)))) }
            rest = rest.dropFirst(Int(length))
        }
        return strings
    }

    /// The keys and values of a record. A key without "=" has an empty value. The first of several values of a key
    /// counts, whatever its case; a string without a key does not count (RFC 6763 §6.4).
    package static func values(in data: some Collection<UInt8>) -> [String: [UInt8]] {
        var values: [String: [UInt8]] = [:]
        var seen: Set<String> = []
        for string in strings(in: data) {
            let key = string.prefix { $0 != UInt8(ascii: "=") }
            guard !key.isEmpty, key.allSatisfy({ (0x20...0x7E).contains($0) }) else { continue }
            let name = String(decoding: key, as: UTF8.self)
            guard seen.insert(name.lowercased()).inserted else { continue }
            values[name] = Array(string.dropFirst(key.count + 1))
        }
        return values
    }

    /// The record of keys and values, in the order of the keys; nil if a key is not valid or something is too long.
    package static func data(of values: [String: [UInt8]]) -> [UInt8]? {
        var strings: [[UInt8]] = []
        for (key, value) in values.sorted(by: { $0.key < $1.key }) {
            let isValid = !key.isEmpty && key.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") }
            guard isValid else { return nil }
            strings.append(Array(key.utf8) + [UInt8(ascii: "=")] + value)
        }
        return data(of: strings)
    }
}
