import Foundation
import URLLoading

/// Many hosts set as many cookies as they can. Neither memory nor the file exceeds the capacity of a jar.
enum HostileCookies {
    /// The number of cookies per response.
    private static let count = 100
    /// The size of a cookie value, in bytes.
    private static let size = 1000
    private static let hosts = 500
    /// Twice the capacity of a jar: in memory, and as pending changes.
    private static let memoryLimit = 32_000_000
    /// Includes memory that malloc keeps, which has an arena per thread.
    private static let mostResident = 96_000_000
    private static let mostFile = 32_000_000

    static func run(_ options: Options) throws -> Bool {
        let home = NSTemporaryDirectory() + "soak-home-\(getpid())"
        setenv("XDG_DATA_HOME", home, 1)
        defer { try? FileManager.default.removeItem(atPath: home) }
        let server = try ServerProcess()
        defer { server.stop() }
        Watchdog.start(limit: 600)
        let storage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: "soak")
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = storage
        configuration.httpCookieAcceptPolicy = .always
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        configuration.httpCookieAcceptPolicy = .never
        let refusing = URLSession(configuration: configuration)
        defer { refusing.invalidateAndCancel() }
        let responses = max(options.cookies / count, 1)
        // Excludes the memory for response heads of 100 KB, and what malloc keeps of it.
        let warming = min(responses, 2 * hosts)
        let refused = load(warming, in: refusing, from: server)
        let resident = ProcessState.peak
        ProcessState.forgetPeak()
        let begin = DispatchTime.now()
        let received = load(responses, in: session, from: server)
        let failures = refused.failures + received.failures
        let flushed = DispatchSemaphore(value: 0)
        session.flush { flushed.signal() }
        flushed.wait()
        let seconds = Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9
        let memory = received.heap - refused.heap
        let held = ProcessState.peak - resident
        let kept = storage.cookies?.count ?? 0
        let names = try FileManager.default.contentsOfDirectory(atPath: home + "/%group-soak")
        let file = names.reduce(0) { sum, name in
            let attributes = try? FileManager.default.attributesOfItem(atPath: home + "/%group-soak/" + name)
            return sum + ((attributes?[.size] as? NSNumber)?.intValue ?? 0)
        }
        let isClean =
            failures == 0 && kept > 1000 && kept <= 3300 && file < mostFile
            && (refused.heap > 0 && memory < memoryLimit && held < mostResident || ProcessState.isSanitized)
        say(
            String(
                format: "Hostile cookies: %d offered by %d hosts in %.1f s, %d kept, %d requests failed",
                responses * count, min(hosts, responses), seconds, kept, failures))
        say("  over the same traffic without cookies: \(memory / 1024) KB allocated (at most \(memoryLimit / 1024)),")
        say("  \(held / 1024) KB resident (at most \(mostResident / 1024)); files \(file / 1024) KB")
        if !isClean { say("FOUND: cookies go beyond their limits.") }
        return isClean
    }

    /// - Returns: The number of failures, and the peak of allocated bytes.
    private static func load(
        _ responses: Int, in session: URLSession, from server: ServerProcess
    ) -> (failures: Int, heap: Int) {
        let counter = Counter()
        var most = 0
        for number in 1...responses {
            let answer = ServerScript.cookies(count: count, size: size, number: number)
            let address = "http://h\(number % hosts).localhost:\(server.ports.plain)\(answer.path)"
            guard let url = URL(string: address) else { return (responses, 0) }
            session.dataTask(with: url) { _, _, error in counter.add(isFailure: error != nil) }.resume()
            // The number of concurrent requests.
            if number > 32 { counter.wait(for: number - 32) }
            if number % 50 == 0 { most = max(most, Allocator.inUse ?? 0) }
        }
        counter.wait(for: responses)
        return (counter.failures, most)
    }
}
