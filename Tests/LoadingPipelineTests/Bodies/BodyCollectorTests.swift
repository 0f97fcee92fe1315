import Foundation
import TestSupport
import Testing

@testable import LoadingPipeline

@Suite(.leakChecked) struct BodyCollectorTests {
    /// A body that came in pieces of that size.
    private func body(_ whole: [UInt8], pieces: Int, announced: Int64) -> Data {
        var collector = BodyCollector()
        collector.expect(announced)
        for start in stride(from: 0, to: whole.count, by: pieces) {
            let isAppended = whole[start..<min(start + pieces, whole.count)].withUnsafeBytes { collector.append($0) }
            #expect(isAppended)
        }
        return collector.take()
    }

    // T-30: small, from the allocator, and mapped; with what the server says, and with what it says wrongly
    @Test(
        "a body is what came, however it grew",
        arguments: [0, 1, 256, 257, 16_384, 1 << 20, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, 9_000_001], [-1, 0, 1, 2])
    func contents(count: Int, announcement: Int) {
        let announced = announcement < 1 ? Int64(announcement) : Int64(announcement == 1 ? count : 2 * count + 1)
        let whole = [UInt8].pattern(count: count)
        #expect(body(whole, pieces: 100_000, announced: announced) == Data(whole))
    }

    @Test("bytes that are read into the collector") func room() throws {
        var collector = BodyCollector()
        let whole = [UInt8].pattern(count: 9_000_000)
        while collector.count < whole.count {
            let found = collector.room(min(300_000, whole.count - collector.count))
            let room = try #require(found)
            room.copyBytes(from: whole[collector.count..<collector.count + room.count])
            collector.filled(room.count)
        }
        let (taken, rest) = (collector.take(), collector.take())
        #expect(taken == Data(whole))
        #expect(rest.isEmpty)
    }

    // T-30: the program decides how long a body stays, not the allocator
    @Test("a large body's memory goes back with the body") func memoryGoesBack() {
        // Made once: the allocator may keep an array of this size.
        let whole = [UInt8].pattern(count: 20_000_000)
        var resident: [Int] = []
        // The second would stay: what was freed once is the measure of what is kept. What an allocator keeps is there
        // after every body; what other tests of the process use comes and goes.
        var growth: Int { (resident.last ?? 0) - (resident.first ?? 0) }
        repeat {
            let body = body(whole, pieces: 128 * 1024, announced: Int64(whole.count))
            #expect(body.count == whole.count)
            withExtendedLifetime(body) {}
            resident.append(Memory.resident)
        } while resident.count < 4 || growth >= Memory.limit(8_000_000) && resident.count < 20
        #expect(growth < Memory.limit(8_000_000), "\(resident)")
    }
}
