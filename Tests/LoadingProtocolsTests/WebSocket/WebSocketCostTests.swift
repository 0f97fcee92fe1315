import LoadingProtocols
import TestSupport
import Testing

/// What a server's frames cost, whatever came before them.
@Suite struct WebSocketCostTests {
    // WS-8: a fragment costs what it is long, and not what its message is long
    @Test("fragments of a long message cost as much as those of a short one") func fragments() throws {
        let empty = Array(repeating: [0x00, 0x00] as [UInt8], count: 20_000).flatMap(\.self)
        func time(after start: Int) throws -> Duration {
            var reader = WebSocketReader(maximumMessageSize: 1 << 20)
            let first = WebSocketReaderTests.frame(0x02, [UInt8](repeating: 7, count: start))
            let clock = ContinuousClock()
            return try (first + empty).withUnsafeBytes { octets in
                var input = UnsafeRawBufferPointer(rebasing: octets[..<first.count])
                let before = try reader.next(&input)
                #expect(before == nil)
                input = UnsafeRawBufferPointer(rebasing: octets[first.count...])
                let start = clock.now
                let after = try reader.next(&input)
                #expect(after == nil)
                return clock.now - start
            }
        }
        let short = try (0..<3).map { _ in try time(after: 1) }.min() ?? .zero
        let long = try (0..<3).map { _ in try time(after: (1 << 20) - 1) }.min() ?? .zero
        // Copying the message for each fragment takes a hundred times as long.
        #expect(long < short * 10)
    }
}
