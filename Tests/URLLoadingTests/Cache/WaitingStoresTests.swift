import Foundation
import LoadingSemantics
import LoadingStorage
import TestSupport
import Testing

@testable import URLLoading

/// The order of changes in memory and on disk.
@Suite(.leavesNothing) struct WaitingStoresTests {
    private let directory: TemporaryDirectory
    private let key = CacheKey(address: "https://example.org/", partition: nil)

    init() throws { directory = try TemporaryDirectory() }

    private func response(_ body: String) throws -> CachedURLResponse {
        let url = try #require(URL(string: "https://example.org/"))
        let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
        return CachedURLResponse(response: try #require(response), data: Data(body.utf8))
    }

    /// Stores three responses in memory, changes it, and then passes them to the disk in the opposite order.
    private func stored(after change: (WaitingStores, CacheKey) -> Void) throws -> String? {
        let disk = ResponseDisk(in: StorageDirectory(path: directory.file("cache").path), capacity: 1 << 20)
        let (stores, cache) = (WaitingStores(), URLCache(memoryCapacity: 0, diskCapacity: 0))
        let responses = try (1...3).map { try response("\($0)") }
        let numbers = responses.enumerated().map {
            stores.add(key, $0.element, at: Date(timeIntervalSince1970: Double($0.offset + 1)))
        }
        change(stores, key)
        for (number, response) in zip(numbers, responses).reversed() {
            disk.store(response, for: key, at: Date(), nil, as: number, of: stores, for: cache)
        }
        let found = disk.find(key).map { String(decoding: $0.data, as: UTF8.self) }
        // None waits any more.
        for number in numbers { #expect(!stores.take(number, of: key)) }
        return found
    }

    // CACHE-25: memory and disk have the same response in the end
    @Test("of several responses for one key the last one is stored") func last() throws {
        #expect(try stored { _, _ in } == "3")
    }

    // CACHE-25, CACHE-28
    @Test("what was removed before the disk gets it is not stored") func removed() throws {
        #expect(try stored { stores, key in stores.remove([key]) } == nil)
        #expect(try stored { stores, _ in stores.removeAll() } == nil)
        #expect(try stored { stores, _ in stores.removeAll(since: Date(timeIntervalSince1970: 3)) } == nil)
        #expect(try stored { stores, _ in stores.removeAll(since: Date(timeIntervalSince1970: 4)) } == "3")
    }
}
