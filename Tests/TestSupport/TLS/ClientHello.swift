/// A ClientHello, as far as tests need it (RFC 8446 §4.1.2).
package struct ClientHello: Sendable, Equatable {
    package enum Extension: Int {
        case applicationProtocols = 16
        case earlyData = 42
        case supportedVersions = 43
        case preSharedKey = 41
    }

    package let random: [UInt8]
    package private(set) var cipherSuites: [Int] = []
    /// Extension contents by type.
    package private(set) var extensions: [Int: [UInt8]] = [:]

    /// The offered versions, by number.
    package var versions: [Int] {
        var reader = Reader(extensions[Extension.supportedVersions.rawValue] ?? [])
        guard var list = reader.take(lengthOf: 1) else { return [] }
        return list.takeNumbers()
    }

    /// The offered ALPN names in order (RFC 7301 §3.1).
    package var applicationProtocols: [String] {
        var reader = Reader(extensions[Extension.applicationProtocols.rawValue] ?? [])
        guard var list = reader.take(lengthOf: 2) else { return [] }
        var names: [String] = []
        while let name = list.take(lengthOf: 1) { names.append(String(decoding: name.bytes, as: UTF8.self)) }
        return names
    }

    package func has(_ extension: Extension) -> Bool { extensions[`extension`.rawValue] != nil }

    /// Parses wire bytes; nil if they do not begin with a ClientHello in one record.
    init?(_ wire: [UInt8]) {
        var reader = Reader(wire)
        guard reader.takeNumber(1) == 22, reader.takeNumber(2) != nil, var record = reader.take(lengthOf: 2),
            record.takeNumber(1) == 1, var hello = record.take(lengthOf: 3),
            // The legacy version.
            hello.take(2) != nil, let random = hello.take(32), hello.take(lengthOf: 1) != nil,
            var suites = hello.take(lengthOf: 2),
            hello.take(lengthOf: 1) != nil, var rest = hello.take(lengthOf: 2)
        else { return nil }
        self.random = Array(random.bytes)
        cipherSuites = suites.takeNumbers()
        while let number = rest.takeNumber(2) {
            guard let content = rest.take(lengthOf: 2) else { return nil }
            extensions[number] = Array(content.bytes)
        }
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        init(_ bytes: some Sequence<UInt8>) { self.bytes = ArraySlice(bytes) }

        mutating func take(_ count: Int) -> Reader? {
            guard bytes.count >= count else { return nil }
            defer { bytes.removeFirst(count) }
            return Reader(bytes.prefix(count))
        }

        mutating func takeNumber(_ size: Int) -> Int? {
            take(size)?.bytes.reduce(0) { $0 << 8 | Int($1) }
        }

        /// Reads a length-prefixed field.
        mutating func take(lengthOf size: Int) -> Reader? {
            takeNumber(size).flatMap { take($0) }
        }

        /// The rest as 16-bit numbers.
        mutating func takeNumbers() -> [Int] {
            var numbers: [Int] = []
            while let number = takeNumber(2) { numbers.append(number) }
            return numbers
        }
    }
}
