import Foundation
import URLLoading

/// Measures the memory of a request that waits for its response.
enum ConcurrentRequests {
    private static let mostPerRequest = 16 * 1024
    private static let held = 2000

    static func run(_ options: Options) throws -> Bool {
        let server = try ServerProcess()
        defer { server.stop() }
        Watchdog.start(limit: 120)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = options.requests
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        guard let first = url(server, after: 0), let slow = url(server, after: held) else { return false }
        let counter = Counter()
        load(first, in: session, counter)
        counter.wait(for: 1)
        Allocator.trim()
        let idle = ProcessState.current
        ProcessState.forgetPeak()
        let begin = DispatchTime.now()
        for _ in 0..<options.requests { load(slow, in: session, counter) }
        usleep(UInt32(held) * 900)
        let waiting = ProcessState.current
        counter.wait(for: 1 + options.requests)
        let seconds = Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9
        let perRequest = (ProcessState.peak - idle.resident) / options.requests
        let isClean = counter.failures == 0 && (perRequest <= mostPerRequest || ProcessState.isSanitized)
        say(
            String(
                format: "Concurrent: %d requests held %d ms by the server, all done after %.1f s, %d failed",
                options.requests, held, seconds, counter.failures))
        say(
            "  idle \(idle.resident / 1024) KB, peak \(ProcessState.peak / 1024) KB: \(perRequest) bytes a request "
                + "(at most \(mostPerRequest)); \(waiting.descriptors.count - idle.descriptors.count) connections")
        if let before = idle.heapInUse, let after = waiting.heapInUse {
            say("  heap in use while they wait: \((after - before) / options.requests) bytes a request")
        }
        if !isClean { say("FOUND: requests that wait cost too much or failed.") }
        return isClean
    }

    private static func url(_ server: ServerProcess, after: Int) -> URL? {
        URL(
            string: "http://127.0.0.1:\(server.ports.plain)"
                + ServerScript.body(size: 100, framing: .length, after: after).path)
    }

    private static func load(_ url: URL, in session: URLSession, _ counter: Counter) {
        session.dataTask(with: url) { data, _, error in counter.add(isFailure: error != nil || data?.count != 100) }
            .resume()
    }
}
