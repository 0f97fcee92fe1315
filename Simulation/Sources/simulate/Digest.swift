import CSimulation

/// Message digests, by their names in OpenSSL.
enum Digest {
    static func hexadecimal(of text: String, _ algorithm: String) -> String {
        var digest = [CChar](repeating: 0, count: 129)
        simulation_digest(algorithm, text, &digest)
        return String(decoding: digest.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func octets(of text: String, _ algorithm: String) -> [UInt8] {
        let digits = hexadecimal(of: text, algorithm).compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
