import Glibc
import LoadingProtocols
import TestSupport
import Testing

/// What a server's frames cost, whatever came before them.
@Suite struct WebSocketCostTests {
    // WS-8: a fragment costs what it is long, and not what its message is long
    @Test("fragments of a long message cost as much as those of a short one") func fragments() throws {
        let empty = Array(repeating: [0x00, 0x00] as [UInt8], count: 20_000).flatMap(\.self)
        // In nanoseconds of this thread's CPU time: other tests run meanwhile.
        func cost(after start: Int) throws -> Int {
            var reader = WebSocketReader(maximumMessageSize: 1 << 20)
            let first = WebSocketReaderTests.frame(0x02, [UInt8](repeating: 7, count: start))
            return try (first + empty).withUnsafeBytes { octets in
                var input = UnsafeRawBufferPointer(rebasing: octets[..<first.count])
                let before = try reader.next(&input)
                #expect(before == nil)
                input = UnsafeRawBufferPointer(rebasing: octets[first.count...])
                let start = threadTime
                let after = try reader.next(&input)
                #expect(after == nil)
                return threadTime - start
            }
        }
        let short = try (0..<3).map { _ in try cost(after: 1) }.min() ?? 0
        let long = try (0..<3).map { _ in try cost(after: (1 << 20) - 1) }.min() ?? 0
        // Copying the message for each fragment takes a hundred times as long.
        #expect(long < short * 10)
    }

    private var threadTime: Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
