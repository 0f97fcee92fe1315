import Foundation
import Glibc
import URLLoading

/// Uses a background session, and ends in different ways.
///
///     background-user start IDENTIFIER exit|die URL…   makes a download of each URL, and ends when all are resumed
///     background-user fork IDENTIFIER URL              makes a download, and is killed, after it has forked a process
///     that stays for a
///                                                      minute and has what it had, whose process id is in the last
///                                                      line
///     background-user finish IDENTIFIER COUNT [die N]  gets the rest, until so many tasks have ended; with `die` it is
///     killed
///                                                      within the callback number N, from 1
///     background-user list IDENTIFIER                  lists the tasks
///     background-user launched                         is launched for events
///     background-user work IDENTIFIER LOG BASE COUNT   makes what is missing of COUNT transfers, alternately downloads
///     of BASE/down/N and
///                                                      uploads to BASE/up/N, and notes each step in the file LOG,
///                                                      until all are done. It may be killed at any time and run again
///     background-user many IDENTIFIER COUNT URL [hold]  creates COUNT downloads, lists them, and gets their ends, or
///     with `hold` cancels
///                                                      them before they have begun. Each line has a step and how long
///                                                      it took
///     background-user later IDENTIFIER SECONDS URL     makes a download that begins after so many seconds, and ends
///
/// Each line on standard output is a callback. With `without-keys` before all other arguments it writes no TLS keys.
@main enum BackgroundUser {
    static func main() {
        var words = Array(CommandLine.arguments.dropFirst())
        if words.first == "without-keys" {
            words.removeFirst()
            URLSession.writesTLSKeys = false
        }
        switch words.first {
        case "start": start(words[1], dies: words[2] == "die", words[3...].compactMap { URL(string: $0) })
        case "fork": forkAndDie(words[1], words[2])
        case "finish": finish(words[1], count: Int(words[2]) ?? 0, fatal: words.count > 4 ? Int(words[4]) : nil)
        case "list": list(words[1])
        case "work": Worker(words[1], log: words[2], base: words[3], count: Int(words[4]) ?? 0).run()
        case "many":
            ManyTasks(words[1], count: Int(words[2]) ?? 0, holds: words.count > 4).run(words[3])
        case "later": later(words[1], seconds: Double(words[2]) ?? 0, words[3])
        case "launched":
            URLSession.handleEventsForBackgroundSessions { identifier, done in
                let delegate = Teller(count: .max, fatal: nil, done)
                let session = session(identifier, delegate)
                delegate.finished.wait()
                withExtendedLifetime(session) {}
            }
        default: exit(64)
        }
    }

    private static func session(_ identifier: String, _ delegate: Teller) -> URLSession {
        URLSession(configuration: .background(withIdentifier: identifier), delegate: delegate, delegateQueue: nil)
    }

    private static func start(_ identifier: String, dies: Bool, _ urls: [URL]) {
        let session = session(identifier, Teller(count: .max, fatal: nil))
        let tasks = urls.map { session.downloadTask(with: $0) }
        for task in tasks {
            task.taskDescription = task.originalRequest?.url?.lastPathComponent
            // Waits until the session is attached.
            write("task \(task.taskIdentifier)")
        }
        for task in tasks { task.resume() }
        if dies { kill(getpid(), SIGKILL) }
        exit(0)
    }

    private static func forkAndDie(_ identifier: String, _ url: String) {
        guard let url = URL(string: url), let symbol = dlsym(nil, "fork") else { return }
        let session = session(identifier, Teller(count: .max, fatal: nil))
        let task = session.downloadTask(with: url)
        write("task \(task.taskIdentifier)")
        task.resume()
        let fork = unsafeBitCast(symbol, to: (@convention(c) () -> pid_t).self)
        let child = fork()
        if child == 0 {
            alarm(60)
            while true { pause() }
        }
        write("\(child)")
        kill(getpid(), SIGKILL)
        withExtendedLifetime(session) {}
    }

    private static func finish(_ identifier: String, count: Int, fatal: Int?) {
        let delegate = Teller(count: count, fatal: fatal)
        let session = session(identifier, delegate)
        delegate.finished.wait()
        withExtendedLifetime(session) {}
    }

    private static func later(_ identifier: String, seconds: Double, _ url: String) {
        guard let url = URL(string: url) else { return }
        let session = session(identifier, Teller(count: .max, fatal: nil))
        let task = session.downloadTask(with: url)
        task.earliestBeginDate = Date(timeIntervalSinceNow: seconds)
        task.resume()
        let done = DispatchSemaphore(value: 0)
        session.getAllTasks { _ in done.signal() }
        done.wait()
        write("task \(task.taskIdentifier)")
    }

    private static func list(_ identifier: String) {
        let session = session(identifier, Teller(count: .max, fatal: nil))
        let done = DispatchSemaphore(value: 0)
        session.getAllTasks { tasks in
            for task in tasks {
                write("task \(task.taskIdentifier) \(task.taskDescription ?? "-") \(task.state.rawValue)")
            }
            done.signal()
        }
        done.wait()
    }
}

/// In one write, so that a kill leaves no half line.
private func write(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = Glibc.write(STDOUT_FILENO, bytes, bytes.count)
}

private final class Teller: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // Sendable: callbacks come one at a time.
    let finished = DispatchSemaphore(value: 0)
    private var remaining: Int
    private var callbacks = 0
    private let fatal: Int?
    private let whenHandled: (@Sendable () -> Void)?

    init(count: Int, fatal: Int?, _ whenHandled: (@Sendable () -> Void)? = nil) {
        remaining = count
        self.fatal = fatal
        self.whenHandled = whenHandled
    }

    private func say(_ text: String) {
        callbacks += 1
        if callbacks == fatal { kill(getpid(), SIGKILL) }
        write(text)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        let content = (try? String(contentsOf: location, encoding: .utf8)) ?? "missing"
        say("downloaded \(downloadTask.taskIdentifier) \(downloadTask.taskDescription ?? "-") \(content)")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        say("completed \(task.taskIdentifier) \((error as? URLError)?.code.rawValue ?? 0)")
        remaining -= 1
        // Not before this callback has returned.
        if remaining == 0 { session.getAllTasks { _ in self.finished.signal() } }
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        say("finished")
        guard let whenHandled else { return }
        whenHandled()
        finished.signal()
    }
}

/// Makes transfers that are noted in a file: what was created, resumed, and reported.
private final class Worker: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // Sendable: callbacks come one at a time, and `lock` guards what they share with the main thread.
    private let identifier: String
    private let log: Int32
    private let base: String
    private let names: [String]
    private let folder: String
    private let lock = NSLock()
    /// The names whose completion is noted.
    private var done: Set<String> = []
    private var noted: [String] = []
    private let changed = DispatchSemaphore(value: 0)

    init(_ identifier: String, log path: String, base: String, count: Int) {
        self.identifier = identifier
        self.base = base
        names = (0..<count).map { ($0 % 2 == 0 ? "down/" : "up/") + "\($0)" }
        folder = (path as NSString).deletingLastPathComponent
        noted = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
        log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        super.init()
        for line in noted where line.hasPrefix("completed ") { done.insert(Self.name(in: line)) }
    }

    private static func name(in line: String) -> String { String(line.split(separator: " ")[1]) }

    func run() {
        note("run")
        let session = URLSession(
            configuration: .background(withIdentifier: identifier), delegate: self, delegateQueue: nil)
        let listed = DispatchSemaphore(value: 0)
        session.getAllTasks { tasks in
            self.lock.withLock {
                self.noted += tasks.compactMap { task in task.taskDescription.map { "resumed \($0)" } }
            }
            for task in tasks where task.state == .suspended { task.resume() }
            listed.signal()
        }
        listed.wait()
        // An end that was not reported before comes now, also of a task whose creation was not noted.
        let unreported = lock.withLock { Set(noted.filter { $0.hasPrefix("creating ") }.map(Self.name)) }
        if !unreported.isEmpty { usleep(200_000) }
        let known = lock.withLock { Set(noted.filter { $0.hasPrefix("resumed ") }.map(Self.name)).union(done) }
        for name in names where !known.contains(name) { make(name, in: session) }
        while !lock.withLock({ done.isSuperset(of: names) }) { changed.wait() }
        let end = DispatchSemaphore(value: 0)
        session.getAllTasks { _ in end.signal() }
        end.wait()
    }

    private func make(_ name: String, in session: URLSession) {
        note("creating \(name)")
        guard let url = URL(string: "\(base)/\(name)") else { return }
        let task: URLSessionTask
        if name.hasPrefix("down/") {
            task = session.downloadTask(with: url)
        } else {
            let file = URL(fileURLWithPath: "\(folder)/body-\(name.dropFirst(3))")
            try? Data(repeating: name.utf8.reduce(0) { $0 &+ $1 }, count: 300_000).write(to: file)
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            task = session.uploadTask(with: request, fromFile: file)
        }
        task.taskDescription = name
        task.resume()
        note("resumed \(name) \(task.taskIdentifier)")
    }

    private func note(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = Glibc.write(log, bytes, bytes.count)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        let name = downloadTask.taskDescription ?? "-"
        let copy = "\(folder)/got-\(name.dropFirst(5))-\(downloadTask.taskIdentifier)"
        // Of a callback that was killed.
        try? FileManager.default.removeItem(atPath: copy)
        try? FileManager.default.copyItem(atPath: location.path, toPath: copy)
        note("downloaded \(name) \(downloadTask.taskIdentifier)")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let name = task.taskDescription ?? "-"
        let status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
        note("completed \(name) \(task.taskIdentifier) \((error as? URLError)?.code.rawValue ?? 0) \(status)")
        lock.withLock { _ = done.insert(name) }
        changed.signal()
    }
}

/// Many downloads of one session, with the time of each step.
private final class ManyTasks: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // Sendable: callbacks come one at a time, and the rest is set before.
    private let identifier: String
    private let count: Int
    private let holds: Bool
    private let finished = DispatchSemaphore(value: 0)
    private var ended = 0
    private var start = DispatchTime.now()

    init(_ identifier: String, count: Int, holds: Bool) {
        self.identifier = identifier
        self.count = count
        self.holds = holds
    }

    private func report(_ step: String) {
        let now = DispatchTime.now()
        write("\(step) \(Double(now.uptimeNanoseconds - start.uptimeNanoseconds) / 1e6)")
        start = now
    }

    func run(_ text: String) {
        guard let url = URL(string: text) else { return }
        let session = URLSession(
            configuration: .background(withIdentifier: identifier), delegate: self, delegateQueue: nil)
        list(session)
        report("attached")
        let tasks = (0..<count).map { _ in
            let task = session.downloadTask(with: url)
            // Later than anything that is measured.
            if holds { task.earliestBeginDate = Date(timeIntervalSinceNow: 86_400) }
            task.resume()
            return task
        }
        report("created")
        list(session)
        report("listed")
        if holds {
            for task in tasks { task.cancel() }
            report("cancelled")
        }
        finished.wait()
        report("ended")
        list(session)
    }

    private func list(_ session: URLSession) {
        let done = DispatchSemaphore(value: 0)
        session.getAllTasks { _ in done.signal() }
        done.wait()
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        ended += 1
        if ended == 1 { write("first \(Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds) / 1e6)") }
        if ended == count { finished.signal() }
    }
}
