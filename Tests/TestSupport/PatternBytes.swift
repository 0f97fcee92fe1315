extension Array<UInt8> {
    /// Deterministic bytes that depend on their position, so that lost, duplicated or reordered pieces are detected.
    package static func pattern(count: Int) -> Self {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            var state: UInt64 = 0x9E37_79B9_7F4A_7C15
            // Eight at a time, because unoptimized tests create tens of millions.
            for place in stride(from: 0, to: count, by: 8) {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                if place + 8 <= count {
                    bytes.storeBytes(of: state, toByteOffset: place, as: UInt64.self)
                } else {
                    for rest in place..<count {
                        bytes[rest] = UInt8(truncatingIfNeeded: state >> (8 * UInt64(rest - place)))
                    }
                }
            }
            initialized = count
        }
    }
}
