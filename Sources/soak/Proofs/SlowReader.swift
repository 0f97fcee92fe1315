import Foundation
import URLLoading

/// A body arrives faster than it is read. The server has to wait, and memory does not grow.
enum SlowReader {
    /// In addition to the idle process.
    private static let memoryLimit = 16_000_000
    /// The limit for data between server and reader, nearly all of it in the two socket buffers.
    private static let mostAhead = 16_000_000
    /// How long a stopped reader reads nothing, in microseconds.
    private static let pauseTime: UInt32 = 1_500_000

    static func run(_ options: Options) throws -> Bool {
        let size = options.size * 1_000_000
        let rate = options.rate * 1_000_000
        say("Slow reader: \(options.size) MB at \(options.rate) MB/s")
        let server = try ServerProcess()
        defer { server.stop() }
        Watchdog.start(limit: 60 + 10 * (options.size / options.rate + 2))
        var isClean = true
        for isSecure in [false, true] {
            let base = isSecure ? "https://127.0.0.1:\(server.ports.secure)" : "http://127.0.0.1:\(server.ports.plain)"
            for form in Form.allCases {
                let answer = ServerScript.counted(size: form.hasPause ? min(size, 96_000_000) : size)
                guard let url = URL(string: base + answer.path), let small = URL(string: base + "/counted/1000") else {
                    return false
                }
                // Allocates everything that is allocated only once.
                _ = Reader(Form.allCases[0], rate: rate).read(small)
                Allocator.trim()
                let idle = ProcessState.current.resident
                ProcessState.forgetPeak()
                let reader = Reader(form, rate: rate)
                let watch = LeadWatch(server, reader.count)
                let outcome = reader.read(url, pauseTime: form.hasPause ? pauseTime : 0)
                let (ahead, stopped) = watch.end()
                let memory = ProcessState.peak - idle
                let isGood =
                    outcome == "whole" && ahead < mostAhead && (memory < memoryLimit || ProcessState.isSanitized)
                    && (!form.hasPause || stopped)
                isClean = isClean && isGood
                let name = "\(form)".padding(toLength: 16, withPad: " ", startingAt: 0)
                say(
                    "  \(isSecure ? "https" : "http ") \(name) \(outcome), server ahead by \(ahead / 1024) KB at most, "
                        + "memory \(memory / 1024) KB over idle" + (stopped ? ", window closed" : "")
                        + (isGood ? "" : "  FOUND"))
            }
        }
        say("Slow reader: \(isClean ? "nothing was found." : "FOUND")")
        return isClean
    }

    enum Form: CaseIterable {
        case slowDelegate
        case slowBytes
        case heldResponse
        case suspendedQueue

        var hasPause: Bool { self == .heldResponse || self == .suspendedQueue }
    }
}

/// The number of bytes read.
private final class ReadCount: @unchecked Sendable {
    // Sendable because `value` is guarded by `lock`.
    private let lock = NSLock()
    private var value = 0

    var total: Int { lock.withLock { value } }
    func add(_ count: Int) { lock.withLock { value += count } }
}

/// Samples the difference between the bytes that the server has sent and those that were read.
private final class LeadWatch: @unchecked Sendable {
    // Sendable because the mutable state is guarded by `lock`.
    private let lock = NSLock()
    private let server: ServerProcess
    private let count: ReadCount
    private var most = 0
    private var isEnded = false
    private var lastAccepted = -1
    private var stillLooks = 0
    private var hasStopped = false
    private let done = DispatchSemaphore(value: 0)

    init(_ server: ServerProcess, _ count: ReadCount) {
        self.server = server
        self.count = count
        Thread.detachNewThread {
            while self.measure() { usleep(20_000) }
            self.done.signal()
        }
    }

    private func measure() -> Bool {
        // In this order the difference may be too small, by what is read meanwhile, but not too large.
        let accepted = server.acceptedBytes()
        let read = count.total
        return lock.withLock {
            guard !isEnded else { return false }
            most = max(most, accepted - read)
            stillLooks = accepted == lastAccepted && accepted > 1000 ? stillLooks + 1 : 0
            lastAccepted = accepted
            // Half a second or more.
            if stillLooks >= 25, read == 0 { hasStopped = true }
            return true
        }
    }

    func end() -> (ahead: Int, hasStopped: Bool) {
        lock.withLock { isEnded = true }
        done.wait()
        return (most, hasStopped)
    }
}

/// Reads one body.
private final class Reader: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable because it changes only on the delegate queue, or in one Swift task.
    let count = ReadCount()
    private let form: SlowReader.Form
    private let rate: Int
    private let ended = DispatchSemaphore(value: 0)
    private let begin = DispatchTime.now()
    private var outcome = "nothing"
    private var expected = 0

    init(_ form: SlowReader.Form, rate: Int) {
        self.form = form
        self.rate = rate
    }

    /// Returns the result after the end.
    func read(_ url: URL, pauseTime: UInt32 = 0) -> String {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let isQueued = form == .suspendedQueue
        if isQueued { queue.isSuspended = true }
        let session = URLSession(
            configuration: .ephemeral, delegate: form == .slowBytes ? nil : self, delegateQueue: isQueued ? queue : nil)
        if form == .slowBytes {
            Task {
                do {
                    let (bytes, response) = try await session.bytes(from: url)
                    expected = Int(response.expectedContentLength)
                    var piece = 0
                    for try await _ in bytes {
                        piece += 1
                        if piece == 64 * 1024 {
                            take(piece)
                            piece = 0
                        }
                    }
                    take(piece)
                    end(nil)
                } catch {
                    end(error)
                }
            }
        } else {
            session.dataTask(with: url).resume()
        }
        if pauseTime > 0 {
            usleep(pauseTime)
            queue.isSuspended = false
        }
        ended.wait()
        session.invalidateAndCancel()
        return outcome
    }

    /// Consumes bytes at the configured rate.
    private func take(_ bytes: Int) {
        count.add(bytes)
        guard !form.hasPause else { return }
        let due = Double(count.total) / Double(rate)
        let now = Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9
        if due > now { usleep(UInt32((due - now) * 1e6)) }
    }

    private func end(_ error: (any Error)?) {
        outcome = error.map { "\($0)" } ?? (count.total == expected ? "whole" : "\(count.total) bytes")
        ended.signal()
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        expected = Int(response.expectedContentLength)
        guard form == .heldResponse else { return completionHandler(.allow) }
        DispatchQueue.global().asyncAfter(deadline: .now() + 1.5) { completionHandler(.allow) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { take(data.count) }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(error)
    }
}
