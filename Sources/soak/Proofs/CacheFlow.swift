import Foundation
import URLLoading

/// Stores much more than the capacity of a cache: its limits hold on disk and in memory. Cached responses are faster
/// than a server on the same machine.
enum CacheFlow {
    private static let memoryCapacity = 4 << 20
    private static let diskCapacity = 20 << 20
    /// In addition to the idle process: the memory tier, pending disk writes, and running responses.
    private static let memoryLimit = 64_000_000
    /// In the index, in files, and too large to be stored.
    private static let sizes = [500, 10_000, 100_000, 900_000, 2_000_000]

    static func run(_ options: Options) throws -> Bool {
        let home = NSTemporaryDirectory() + "soak-cache-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: home) }
        let server = try ServerProcess()
        defer { server.stop() }
        Watchdog.start(limit: 1800)
        let cache = URLCache(
            memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, directory: URL(fileURLWithPath: home))
        let isFlowClean = flow(options.size * 1_000_000, through: cache, server, home)
        let isWarmClean = warm(home, server)
        return isFlowClean && isWarmClean
    }

    private static func flow(_ total: Int, through cache: URLCache, _ server: ServerProcess, _ home: String) -> Bool {
        let session = session(cache)
        defer { session.invalidateAndCancel() }
        let counter = Counter()
        load(1000, 0, server, in: session, counter)
        counter.wait(for: 1)
        Allocator.trim()
        let idle = ProcessState.current.resident
        ProcessState.forgetPeak()
        let begin = DispatchTime.now()
        var sent = 0
        var number = 0
        var mostOnDisk = 0
        while sent < total {
            number += 1
            let size = sizes[number % sizes.count]
            sent += size
            load(size, number, server, in: session, counter)
            if number > 16 { counter.wait(for: number - 16) }
            if number % 500 == 0 { mostOnDisk = max(mostOnDisk, sizeOfFiles(home)) }
        }
        counter.wait(for: 1 + number)
        flush(session)
        let seconds = Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9
        mostOnDisk = max(mostOnDisk, sizeOfFiles(home))
        let memory = ProcessState.peak - idle
        // The index is a few pages larger than its contents, and has a journal.
        let isClean =
            counter.failures == 0 && cache.currentDiskUsage <= diskCapacity && cache.currentDiskUsage > diskCapacity / 2
            && cache.currentMemoryUsage <= memoryCapacity && mostOnDisk < diskCapacity * 3 / 2
            && (memory < memoryLimit || ProcessState.isSanitized)
        say(
            String(
                format: "Cache flow: %d responses, %d MB in %.1f s, %d failed", number, sent / 1_000_000, seconds,
                counter.failures))
        say(
            "  disk \(cache.currentDiskUsage / 1024) of \(diskCapacity / 1024) KB, its files \(mostOnDisk / 1024) KB at most; "
                + "memory \(cache.currentMemoryUsage / 1024) of \(memoryCapacity / 1024) KB; "
                + "process \(memory / 1024) KB over idle")
        if !isClean { say("FOUND: the cache goes beyond its limits.") }
        return isClean
    }

    /// Requests per second, 16 at a time, for 100 URLs in turn. Sequential requests would measure the wake-up latency
    /// of threads, which is the same for disk and server.
    private static func warm(_ home: String, _ server: ServerProcess) -> Bool {
        let folder = URL(fileURLWithPath: home + "/warm")
        let kinds: [(name: String, cache: URLCache?)] = [
            ("network", nil),
            ("memory", URLCache(memoryCapacity: memoryCapacity, diskCapacity: 0, directory: nil)),
            ("disk", URLCache(memoryCapacity: 0, diskCapacity: diskCapacity, directory: folder)),
        ]
        var rates: [[Double]] = kinds.map { _ in [] }
        for _ in 0..<4 {
            for (kindIndex, kind) in kinds.enumerated() {
                let session = session(kind.cache)
                let counter = Counter()
                let begin = DispatchTime.now()
                for number in 1...3000 {
                    load(100, number % 100, server, in: session, counter)
                    if number > 16 { counter.wait(for: number - 16) }
                }
                counter.wait(for: 3000)
                let seconds = Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9
                rates[kindIndex].append(3000 / seconds)
                flush(session)
                session.invalidateAndCancel()
            }
        }
        // The first round only fills the caches.
        let medians = rates.map { $0.dropFirst().sorted()[1] }
        say(
            "  warm: "
                + zip(kinds, medians).map { "\($0.name) \(Int($1)) requests/s" }.joined(separator: ", "))
        let isClean = medians[1] > medians[0] && medians[2] > medians[0]
        if !isClean { say("FOUND: a warm cache is slower than the network.") }
        return isClean
    }

    private static func session(_ cache: URLCache?) -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = cache
        return URLSession(configuration: configuration)
    }

    private static func load(
        _ size: Int, _ number: Int, _ server: ServerProcess, in session: URLSession, _ counter: Counter
    ) {
        let path = ServerScript.cacheable(size: size, number: number).path
        guard let url = URL(string: "http://127.0.0.1:\(server.ports.plain)\(path)") else {
            return counter.add(isFailure: true)
        }
        session.dataTask(with: url) { data, _, error in counter.add(isFailure: error != nil || data?.count != size) }
            .resume()
    }

    private static func flush(_ session: URLSession) {
        let flushed = DispatchSemaphore(value: 0)
        session.flush { flushed.signal() }
        flushed.wait()
    }

    private static func sizeOfFiles(_ folder: String) -> Int {
        var size = 0
        for case let name as String in FileManager.default.enumerator(atPath: folder) ?? .init() {
            let attributes = try? FileManager.default.attributesOfItem(atPath: folder + "/" + name)
            if attributes?[.type] as? FileAttributeType == .typeRegular {
                size += (attributes?[.size] as? NSNumber)?.intValue ?? 0
            }
        }
        return size
    }
}
