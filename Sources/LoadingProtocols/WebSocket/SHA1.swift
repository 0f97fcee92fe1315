/// SHA-1 (FIPS 180-4) of a short text, for `Sec-WebSocket-Accept`.
///
/// There it proves only that the server supports the protocol, so the weakness of the hash does not matter. A hash of
/// this module keeps WebSockets over cleartext independent of OpenSSL.
enum SHA1 {
    static func hash(_ message: [UInt8]) -> [UInt8] {
        var state: (UInt32, UInt32, UInt32, UInt32, UInt32) = (
            0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0
        )
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        withUnsafeBytes(of: UInt64(message.count * 8).bigEndian) { padded.append(contentsOf: $0) }
        var schedule = [UInt32](repeating: 0, count: 80)
        for block in stride(from: 0, to: padded.count, by: 64) {
            for index in 0..<16 {
                schedule[index] = padded[(block + index * 4)..<(block + index * 4 + 4)].reduce(0) {
                    $0 << 8 | UInt32($1)
                }
            }
            for index in 16..<80 {
                schedule[index] = turn(
                    schedule[index - 3] ^ schedule[index - 8] ^ schedule[index - 14] ^ schedule[index - 16], 1)
            }
            var (a, b, c, d, e) = state
            for index in 0..<80 {
                let (choice, constant): (UInt32, UInt32) =
                    switch index {
                    case ..<20: (b & c | ~b & d, 0x5A82_7999)
                    case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                    case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                    default: (b ^ c ^ d, 0xCA62_C1D6)
                    }
                let next = turn(a, 5) &+ choice &+ e &+ constant &+ schedule[index]
                (a, b, c, d, e) = (next, a, turn(b, 30), c, d)
            }
            state = (state.0 &+ a, state.1 &+ b, state.2 &+ c, state.3 &+ d, state.4 &+ e)
        }
        return [state.0, state.1, state.2, state.3, state.4].flatMap { word in
            [
                UInt8(truncatingIfNeeded: word >> 24), UInt8(truncatingIfNeeded: word >> 16),
                UInt8(truncatingIfNeeded: word >> 8), UInt8(truncatingIfNeeded: word),
            ]
        }
    }

    private static func turn(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}
