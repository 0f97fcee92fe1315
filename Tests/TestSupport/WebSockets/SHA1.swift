/// SHA-1 (RFC 3174) of a short text, for `Sec-WebSocket-Accept`.
enum SHA1 {
    static func digest(of text: String) -> [UInt8] {
        var message = Array(text.utf8)
        let bitCount = UInt64(message.count) * 8
        message.append(0x80)
        message += [UInt8](repeating: 0, count: (120 - message.count % 64) % 64)
        message += (0..<8).map { UInt8(truncatingIfNeeded: bitCount >> (56 - 8 * UInt64($0))) }
        var hash: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        for start in stride(from: 0, to: message.count, by: 64) {
            var words = (0..<16).map { index in
                message[(start + 4 * index)..<(start + 4 * index + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            for index in 16..<80 {
                words.append(
                    rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], by: 1))
            }
            var (a, b, c, d, e) = (hash[0], hash[1], hash[2], hash[3], hash[4])
            for (index, word) in words.enumerated() {
                let mixed: UInt32
                switch index / 20 {
                case 0: mixed = ((b & c) | (~b & d)) &+ 0x5A82_7999
                case 1: mixed = (b ^ c ^ d) &+ 0x6ED9_EBA1
                case 2: mixed = ((b & c) | (b & d) | (c & d)) &+ 0x8F1B_BCDC
                default: mixed = (b ^ c ^ d) &+ 0xCA62_C1D6
                }
                let next = rotated(a, by: 5) &+ mixed &+ e &+ word
                (a, b, c, d, e) = (next, a, rotated(b, by: 30), c, d)
            }
            for (index, value) in [a, b, c, d, e].enumerated() { hash[index] &+= value }
        }
        return hash.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * UInt32($0))) } }
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}
