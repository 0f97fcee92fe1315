/// MD5 and SHA-1, which Digest authentication and the WebSocket handshake need. The suite may use nothing but
/// Foundation.
enum Digests {
    static func md5(_ text: String) -> String {
        hexadecimal(md5(Array(text.utf8)))
    }

    static func md5(_ message: [UInt8]) -> [UInt8] {
        let shifts: [[UInt32]] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]
        for block in blocks(message, isBigEndian: false) {
            let words = (0..<16).map { i in
                (0..<4).reduce(UInt32(0)) { $0 | UInt32(block[i * 4 + $1]) << UInt32($1 * 8) }
            }
            var (a, b, c, d) = (state[0], state[1], state[2], state[3])
            for i in 0..<64 {
                let (mixed, word) =
                    switch i / 16 {
                    case 0: ((b & c) | (~b & d), i)
                    case 1: ((d & b) | (~d & c), (5 * i + 1) % 16)
                    case 2: (b ^ c ^ d, (3 * i + 5) % 16)
                    default: (c ^ (b | ~d), 7 * i % 16)
                    }
                let sum = a &+ mixed &+ sines[i] &+ words[word]
                (a, d, c, b) = (d, c, b, b &+ rotate(sum, shifts[i / 16][i % 4]))
            }
            state = zip(state, [a, b, c, d]).map { $0 &+ $1 }
        }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32($0 * 8)) } }
    }

    static func sha1(_ message: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
        for block in blocks(message, isBigEndian: true) {
            var words = (0..<16).map { i in (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(block[i * 4 + $1]) } }
            for i in 16..<80 { words.append(rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1)) }
            var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
            for i in 0..<80 {
                let (mixed, constant): (UInt32, UInt32) =
                    switch i / 20 {
                    case 0: ((b & c) | (~b & d), 0x5a82_7999)
                    case 1: (b ^ c ^ d, 0x6ed9_eba1)
                    case 2: ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc)
                    default: (b ^ c ^ d, 0xca62_c1d6)
                    }
                let sum = rotate(a, 5) &+ mixed &+ e &+ constant &+ words[i]
                (e, d, c, b, a) = (d, c, rotate(b, 30), a, sum)
            }
            state = zip(state, [a, b, c, d, e]).map { $0 &+ $1 }
        }
        return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> UInt32(24 - $0 * 8)) } }
    }

    private static let sines: [UInt32] = [
        0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
        0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
        0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
        0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
        0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
        0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
        0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
        0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
    ]

    private static func blocks(_ message: [UInt8], isBigEndian: Bool) -> [ArraySlice<UInt8>] {
        let bits = UInt64(message.count) * 8
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        padded += (0..<8).map { UInt8(truncatingIfNeeded: bits >> UInt64(isBigEndian ? 56 - $0 * 8 : $0 * 8)) }
        return stride(from: 0, to: padded.count, by: 64).map { ArraySlice(Array(padded[$0..<$0 + 64])) }
    }

    private static func rotate(_ word: UInt32, _ count: UInt32) -> UInt32 { word << count | word >> (32 - count) }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
