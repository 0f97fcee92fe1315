extension Array<UInt8> {
    /// Bytes that differ by place, the same in every run: a piece lost, doubled or out of order shows.
    package static func pattern(count: Int) -> Self {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var state: UInt64 = 0x9E37_79B9_7F4A_7C15
            for index in 0..<count {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                buffer[index] = UInt8(truncatingIfNeeded: state >> 32)
            }
            initialized = count
        }
    }
}
