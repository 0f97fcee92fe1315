// One program for two implementations of URLSession: this package's and the toolchain's. It does what a careful program
// would do: no URL cache, the number of connections the work asks for, one request value used again. With --session it
// does what most programs do, which change nothing: memory (the default cache), disk (the same without memory).
//
// Modes: completion (handlers), delegate (body counted or written to --file as it comes), async (a task group as wide
// as the concurrency), download (downloadTask, the file moved to --file), upload (uploadTask from a file), bytes and
// lines (AsyncBytes and their lines, this package only), echo and echo-async (WebSocket messages, this package only).

import Foundation
import Glibc

#if URL_LOADING
    import URLLoading
#else
    import FoundationNetworking
#endif

struct Workload: Sendable {
    var url = ""
    var mode = "completion"
    var requests = 1
    var concurrency = 1
    var connections = 1
    /// Bytes each response must have.
    var body = 100
    var file: String?
    /// What is sent by POST.
    var upload: String?
    /// Which URL cache: none, memory or disk.
    var session = "none"
    /// Responses of other URLs that the cache holds before, and cookies of other hosts.
    var cached = 0
    var cookies = 0
    /// Each request has a URL of its own.
    var isDistinct = false
    /// Of HTTP. 1 and 2 are what the server has.
    var version = 1

    init(arguments: [String]) {
        var index = 1
        while index + 1 < arguments.count {
            let value = arguments[index + 1]
            switch arguments[index] {
            case "--url": url = value
            case "--mode": mode = value
            case "--requests": requests = Int(value) ?? 0
            case "--concurrency": concurrency = Int(value) ?? 0
            case "--connections": connections = Int(value) ?? 0
            case "--body": body = Int(value) ?? 0
            case "--file": file = value
            case "--upload": upload = value
            case "--session": session = value
            case "--cached": cached = Int(value) ?? 0
            case "--cookies": cookies = Int(value) ?? 0
            case "--distinct": isDistinct = value == "yes"
            case "--version": version = Int(value) ?? 0
            default: refuse("unknown option: \(arguments[index])")
            }
            index += 2
        }
    }
}

extension Workload {
    func configuration() -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.httpMaximumConnectionsPerHost = connections
        switch session {
        case "none": configuration.urlCache = nil
        case "disk": configuration.urlCache = URLCache(memoryCapacity: 0, diskCapacity: 64 << 20, diskPath: "disk")
        default: break
        }
        if let cache = configuration.urlCache { fill(cache) }
        if let jar = configuration.httpCookieStorage { fill(jar) }
        return configuration
    }

    private func fill(_ cache: URLCache) {
        let fields = ["Cache-Control": "max-age=86400"]
        for number in 0..<cached {
            guard let url = URL(string: "http://other.example/\(number)"),
                let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields)
            else { continue }
            let entry = CachedURLResponse(response: response, data: Data(count: 100))
            cache.storeCachedResponse(entry, for: URLRequest(url: url))
        }
        // Waits for what is on its way to the disk.
        if cached > 0 { _ = cache.currentDiskUsage }
    }

    private func fill(_ jar: HTTPCookieStorage) {
        for number in 0..<cookies {
            let properties: [HTTPCookiePropertyKey: Any] = [
                .name: "name", .value: "value", .domain: "host\(number).example", .path: "/",
            ]
            if let cookie = HTTPCookie(properties: properties) { jar.setCookie(cookie) }
        }
    }

    func request(_ number: Int, like request: URLRequest) -> URLRequest {
        guard isDistinct else { return request }
        var request = request
        request.url = URL(string: url + "?\(number)")
        return request
    }
}

struct Totals: Sendable {
    var requests = 0
    var bytes = 0
    var errors = 0

    mutating func count(_ response: URLResponse?, bytes: Int, of workload: Workload) {
        requests += 1
        self.bytes += bytes
        if (response as? HTTPURLResponse)?.statusCode != 200 || bytes != workload.body { errors += 1 }
    }
}

func refuse(_ message: String) -> Never {
    FileHandle.standardError.write(Data("\(message)\n".utf8))
    exit(2)
}

/// Keeps `concurrency` tasks in flight. Its state is safe without a lock: after `start` it is touched on the session's
/// delegate queue only, which is serial.
final class TaskRunner: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let workload: Workload
    private let request: URLRequest
    private let finished = DispatchSemaphore(value: 0)
    private var started = 0
    private var totals = Totals()
    private var received = 0
    private var descriptor: Int32 = -1
    private var session: URLSession?

    init(_ workload: Workload, request: URLRequest) {
        self.workload = workload
        self.request = request
    }

    func run(_ configuration: URLSessionConfiguration) -> Totals {
        let delegate = workload.mode == "delegate" ? self : nil
        if let file = workload.file, delegate != nil {
            descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
            if descriptor < 0 { refuse("cannot open \(file)") }
        }
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        self.session = session
        // All are made before the first one runs, since from then on the delegate queue owns the counters.
        let first = (0..<min(workload.concurrency, workload.requests)).compactMap { _ in nextTask() }
        for task in first { task.resume() }
        finished.wait()
        if descriptor >= 0, close(descriptor) != 0 { totals.errors += 1 }
        return totals
    }

    private func nextTask() -> URLSessionTask? {
        guard let session else { return nil }
        started += 1
        let request = workload.request(started, like: request)
        switch workload.mode {
        case "delegate":
            return session.dataTask(with: request)
        case "upload":
            let file = URL(fileURLWithPath: workload.upload ?? "")
            return session.uploadTask(with: request, fromFile: file) { [self] data, response, _ in
                ended(response, bytes: data?.count ?? 0)
            }
        case "download":
            return session.downloadTask(with: request) { [self] location, response, _ in
                ended(response, bytes: keep(location))
            }
        default:
            return session.dataTask(with: request) { [self] data, response, _ in
                ended(response, bytes: data?.count ?? 0)
            }
        }
    }

    private func ended(_ response: URLResponse?, bytes: Int) {
        totals.count(response, bytes: bytes, of: workload)
        if started < workload.requests {
            nextTask()?.resume()
        } else if totals.requests == workload.requests {
            finished.signal()
        }
    }

    /// Moves a download to where it was wanted and returns its size.
    private func keep(_ location: URL?) -> Int {
        guard let location, let file = workload.file, rename(location.path, file) == 0 else { return 0 }
        var status = stat()
        return stat(file, &status) == 0 ? Int(status.st_size) : 0
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        received += data.count
        guard descriptor >= 0 else { return }
        for region in data.regions {
            region.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let written = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if written <= 0 {
                        totals.errors += 1
                        return
                    }
                    rest = rest.dropFirst(written)
                }
            }
        }
    }

    /// Bodies are counted together: with one connection's worth of small ones a table per task would only measure
    /// itself. A wrong sum shows in `Totals.bytes`, which the driver checks.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let bytes = error == nil ? workload.body : 0
        ended(task.response, bytes: bytes)
        if totals.requests == workload.requests { totals.bytes = received }
    }
}

/// `data(for:)` in a task group that is never wider than the concurrency.
func runAsync(_ workload: Workload, request: URLRequest, configuration: URLSessionConfiguration) async -> Totals {
    let session = URLSession(configuration: configuration)
    return await withTaskGroup(of: (Data, URLResponse)?.self) { group in
        var totals = Totals()
        var started = 0
        while totals.requests < workload.requests {
            while started < workload.requests, started - totals.requests < workload.concurrency {
                started += 1
                let request = workload.request(started, like: request)
                group.addTask { try? await session.data(for: request) }
            }
            guard let result = await group.next() else { break }
            totals.count(result?.1, bytes: result?.0.count ?? 0, of: workload)
        }
        return totals
    }
}

#if URL_LOADING
    func runBytes(_ workload: Workload, request: URLRequest, configuration: URLSessionConfiguration) async -> Totals {
        let session = URLSession(configuration: configuration)
        var totals = Totals()
        for _ in 0..<workload.requests {
            guard let (bytes, response) = try? await session.bytes(for: request) else {
                totals.count(nil, bytes: 0, of: workload)
                continue
            }
            var received = 0
            do {
                if workload.mode == "lines" {
                    for try await line in bytes.lines { received += line.utf8.count + 1 }
                } else {
                    for try await _ in bytes { received += 1 }
                }
            } catch {
                received = -1
            }
            totals.count(response, bytes: received, of: workload)
        }
        return totals
    }
#endif

/// What the work cost, as the line of JSON every client prints.
struct Meter {
    private let usage = Meter.usage()
    private let time = Meter.now()

    func report(_ totals: Totals) {
        let (user, system) = Meter.usage()
        let line =
            "{\"requests\":\(totals.requests),\"bytes\":\(totals.bytes),\"seconds\":\(Meter.now() - time),"
            + "\"cpu_user\":\(user - usage.user),\"cpu_sys\":\(system - usage.system),"
            + "\"process_cpu_user\":\(user),\"process_cpu_sys\":\(system),"
            + "\"peak_rss_kb\":\(Meter.peakResidentKilobytes()),\"errors\":\(totals.errors)}\n"
        _ = line.withCString { write(STDOUT_FILENO, $0, strlen($0)) }
    }

    private static func usage() -> (user: Double, system: Double) {
        var usage = rusage()
        getrusage(RUSAGE_SELF.rawValue, &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return (seconds(usage.ru_utime), seconds(usage.ru_stime))
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// ru_maxrss survives exec and so may be the driver's size; VmHWM belongs to this program alone.
    private static func peakResidentKilobytes() -> Int {
        guard let status = fopen("/proc/self/status", "r") else { return 0 }
        defer { fclose(status) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), status) != nil {
            if strncmp(line, "VmHWM:", 6) == 0 {
                return line.withUnsafeBufferPointer { $0.baseAddress.map { atol($0 + 6) } ?? 0 }
            }
        }
        return 0
    }
}

@main
enum URLSessionClient {
    static func main() {
        let workload = Workload(arguments: CommandLine.arguments)
        guard let url = URL(string: workload.url) else { refuse("missing option: --url") }
        var request = URLRequest(url: url)
        if workload.upload != nil { request.httpMethod = "POST" }
        #if URL_LOADING
            request.assumesHTTP3Capable = workload.version == 3
        #endif
        // The start is part of what is measured, but not what was there before.
        let started = Meter()
        let configuration = workload.configuration()
        let meter = workload.cached + workload.cookies > 0 ? Meter() : started
        switch workload.mode {
        case "async":
            Task.detached { [request] in
                end(await runAsync(workload, request: request, configuration: configuration), meter)
            }
        #if URL_LOADING
            case "bytes", "lines":
                Task.detached { [request] in
                    end(await runBytes(workload, request: request, configuration: configuration), meter)
                }
            case "echo": end(EchoRunner(workload).run(), meter)
            case "echo-async": Task.detached { end(await EchoRunner.runAsync(workload), meter) }
        #endif
        default:
            // The handlers run on the delegate queue's thread; this one has nothing else to do than wait.
            end(TaskRunner(workload, request: request).run(configuration), meter)
        }
        // The detached task ends the process. dispatchMain would end this thread, which valgrind does not survive.
        DispatchSemaphore(value: 0).wait()
    }

    private static func end(_ totals: Totals, _ meter: Meter) -> Never {
        meter.report(totals)
        exit(totals.errors == 0 ? 0 : 1)
    }
}
