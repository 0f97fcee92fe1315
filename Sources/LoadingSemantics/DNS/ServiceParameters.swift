/// The SvcParams of an HTTPS record (RFC 9460 §2.2, §7, §8).
struct ServiceParameters {
    private enum Key: UInt16 {
        case mandatory, protocols, noDefaultProtocol, port, ipv4Hints
        // Key 5 is `ech`, which is not supported.
        case ipv6Hints = 6
    }

    private(set) var protocols: [[UInt8]] = []
    private(set) var hasDefaultProtocol = true
    private(set) var port: UInt16?
    private(set) var ipv4Hints: [[UInt8]] = []
    private(set) var ipv6Hints: [[UInt8]] = []
    /// Whether all mandatory parameters are known, and the parameters do not contradict each other.
    private(set) var isUnderstood = true

    /// Parses the rest of the record. Returns false if it is malformed.
    mutating func read(_ reader: inout DNSReader) -> Bool {
        var mandatory: [UInt16] = []
        var missing = 0
        var last: UInt16?
        while !reader.isAtEnd {
            guard let number = reader.number16(), let length = reader.number16(),
                let value = reader.bytes(Int(length))
            else { return false }
            // Keys must be in strictly increasing order (§2.2).
            if let last, number <= last { return false }
            last = number
            // Both lists are in increasing order, so one index suffices to check that each mandatory key is present.
            if missing < mandatory.count {
                if mandatory[missing] < number { return false }
                if mandatory[missing] == number { missing += 1 }
            }
            switch Key(rawValue: number) {
            case .mandatory:
                guard let keys = Self.keys(value) else { return false }
                mandatory = keys
                isUnderstood = isUnderstood && keys.allSatisfy { Key(rawValue: $0) != nil }
            case .protocols:
                guard let names = Self.names(value) else { return false }
                protocols = names
            case .noDefaultProtocol:
                guard value.isEmpty else { return false }
                hasDefaultProtocol = false
                // `no-default-alpn` requires `alpn` (§7.1.1).
                if protocols.isEmpty { isUnderstood = false }
            case .port:
                guard value.count == 2 else { return false }
                port = value.reduce(0) { $0 << 8 | UInt16($1) }
                // Port 0 cannot be connected to.
                if port == 0 { isUnderstood = false }
            case .ipv4Hints:
                guard let addresses = Self.pieces(value, of: 4) else { return false }
                ipv4Hints = addresses
            case .ipv6Hints:
                guard let addresses = Self.pieces(value, of: 16) else { return false }
                ipv6Hints = addresses
            case nil: break
            }
        }
        return missing == mandatory.count
    }

    /// The keys must be in strictly increasing order, and must not contain `mandatory` itself (§8).
    private static func keys(_ value: ArraySlice<UInt8>) -> [UInt16]? {
        var reader = DNSReader(value)
        var keys: [UInt16] = []
        while !reader.isAtEnd {
            guard let key = reader.number16(), key > keys.last ?? 0 else { return nil }
            keys.append(key)
        }
        return keys.isEmpty ? nil : keys
    }

    private static func names(_ value: ArraySlice<UInt8>) -> [[UInt8]]? {
        var reader = DNSReader(value)
        var names: [[UInt8]] = []
        var isEmpty = true
        while !reader.isAtEnd {
            guard let length = reader.number8(), length > 0, let name = reader.bytes(Int(length)) else { return nil }
            isEmpty = false
            if names.count < HTTPSRecord.maximumValues { names.append(Array(name)) }
        }
        return isEmpty ? nil : names
    }

    private static func pieces(_ value: ArraySlice<UInt8>, of size: Int) -> [[UInt8]]? {
        guard !value.isEmpty, value.count.isMultiple(of: size) else { return nil }
        return stride(from: value.startIndex, to: value.endIndex, by: size).prefix(HTTPSRecord.maximumValues)
            .map { Array(value[$0..<($0 + size)]) }
    }
}
