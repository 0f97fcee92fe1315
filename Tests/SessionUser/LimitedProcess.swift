import Dispatch
import Foundation
import Glibc
import URLLoading

/// What the program does in processes that cannot load.
enum LimitedProcess {
    /// Says what becomes of a task; not in the process's own time, since that may have no other thread.
    private final class RecordingDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        // Sendable because it never changes.
        let name: String
        let done = DispatchSemaphore(value: 0)

        init(_ name: String) { self.name = name }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            say(name, LimitedProcess.text(error))
            done.signal()
        }

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { done.signal() }
    }

    /// Continues on the thread that resumes.
    private final class CurrentThread: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    private static func say(_ words: String...) {
        print(words.joined(separator: ": "))
        fflush(nil)
    }

    private static func text(_ error: (any Error)?) -> String {
        guard let error = error as? URLError else { return "no error" }
        let cause = (error.userInfo[NSUnderlyingErrorKey] as? NSError)?.localizedDescription
        return "\(error.code.rawValue)" + (cause.map { " \($0)" } ?? "")
    }

    private static func load(_ name: String, _ url: URL, in session: URLSession) {
        wait(begin(name, url, in: session).done, name)
    }

    private static func begin(
        _ name: String, _ url: URL, in session: URLSession
    ) -> (task: URLSessionTask, done: DispatchSemaphore) {
        let done = DispatchSemaphore(value: 0)
        let task = session.dataTask(with: url) { data, response, error in
            let status = (response as? HTTPURLResponse)?.statusCode
            say(name, status.map { "\($0) \(String(decoding: data ?? Data(), as: UTF8.self))" } ?? text(error))
            done.signal()
        }
        task.resume()
        return (task, done)
    }

    private static func wait(_ done: DispatchSemaphore, _ name: String) {
        if done.wait(timeout: .now() + 10) == .timedOut {
            say(name, "no end")
            exit(3)
        }
    }

    private static func contents(_ name: String, of url: URL) {
        do {
            say(name, "\(try Data(contentsOf: url).count) bytes")
        } catch {
            say(name, "\((error as? CocoaError)?.code.rawValue ?? 0)")
        }
    }

    // MARK: Forked off

    static func fork(_ url: URL) {
        let session = URLSession(configuration: .ephemeral)
        load("before", url, in: session)
        let held = url.appendingPathComponent("held")
        let name = DispatchQueue(label: "name")
        nonisolated(unsafe) var prefix = "held"
        let done = DispatchSemaphore(value: 0)
        let running = session.dataTask(with: held) { data, response, error in
            let prefix = name.sync { prefix }
            let status = (response as? HTTPURLResponse)?.statusCode
            say(prefix, status.map { "\($0) \(String(decoding: data ?? Data(), as: UTF8.self))" } ?? text(error))
            done.signal()
        }
        running.resume()
        // Another one over the same connection limit has been answered when that one is on its way.
        load("beside", url, in: session)
        let socket = newSocket(url, in: session)
        socket.resume()
        // What the loop does for the first time needs locks of Swift's runtime, which must be free in the new process.
        for _ in 0..<2 { ping(socket, "before") }
        let child = forkProcess()
        if child == 0 {
            prefix = "child, cancelled"
            load("child, old session", url, in: session)
            let delegate = RecordingDelegate("child, delegate")
            let other = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            other.dataTask(with: url).resume()
            wait(delegate.done, delegate.name)
            running.cancel()
            wait(done, "child, cancelled")
            load("child, new session", url, in: URLSession(configuration: .ephemeral))
            contents("child, contents", of: url)
            useSocket(socket, "child, socket")
            useSocket(newSocket(url, in: session), "child, new socket")
            let nested = DispatchSemaphore(value: 0)
            session.dataTask(with: url) { _, _, _ in
                contents("child, contents in a handler", of: url)
                nested.signal()
            }.resume()
            wait(nested, "child, contents in a handler")
            other.invalidateAndCancel()
            wait(delegate.done, "child, invalid")
            say("child, invalid")
            _exit(0)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        load("after", url.appendingPathComponent("release"), in: session)
        wait(done, "held")
        // What the child did has not touched the connection.
        let answered = DispatchSemaphore(value: 0)
        socket.send(.string("still there")) { _ in }
        socket.receive { result in
            if case .success(.string(let text)) = result { say("socket", text) }
            answered.signal()
        }
        wait(answered, "socket")
        socket.cancel()
    }

    private static func newSocket(_ url: URL, in session: URLSession) -> URLSessionWebSocketTask {
        var components = URLComponents(url: url.appendingPathComponent("socket"), resolvingAgainstBaseURL: false)
        components?.scheme = "ws"
        return session.webSocketTask(with: components?.url ?? url)
    }

    private static func ping(_ socket: URLSessionWebSocketTask, _ name: String) {
        let done = DispatchSemaphore(value: 0)
        socket.sendPing { error in
            if let error { say("\(name), pong", text(error)) }
            done.signal()
        }
        wait(done, name)
    }

    /// Says how each operation of a WebSocket ends.
    private static func useSocket(_ socket: URLSessionWebSocketTask, _ name: String) {
        let done = DispatchSemaphore(value: 0)
        socket.send(.string("x")) { error in
            say("\(name), sent", text(error))
            done.signal()
        }
        wait(done, name)
        socket.receive { result in
            if case .failure(let error) = result { say("\(name), received", text(error)) }
            done.signal()
        }
        wait(done, name)
        socket.sendPing { error in
            say("\(name), pong", text(error))
            done.signal()
        }
        wait(done, name)
        // The threads of the ordinary executor are gone.
        Task(executorPreference: CurrentThread()) {
            do { try await socket.send(.string("x")) } catch { say("\(name), awaited", text(error)) }
            do { _ = try await socket.receive() } catch { say("\(name), awaited", text(error)) }
            done.signal()
        }
        wait(done, "\(name), awaited")
        socket.cancel(with: .normalClosure, reason: nil)
    }

    /// Forks while other threads of the process make tasks and end them, and says whether a new process did not come to
    /// the ends of its own.
    static func forkOften(_ url: URL) {
        let session = URLSession(configuration: .ephemeral)
        // What a new process uses is used here before, since not all that runs when it is first used minds a fork.
        load("before", url, in: session)
        if !endsInNewProcess(session, url, nil) { return say("no end before") }
        for _ in 0..<4 { Thread { while true { work(session, url) } }.start() }
        let end = ContinuousClock.now + .seconds(4)
        var (children, failures) = (0, 0)
        while children < 400, failures == 0, children < 10 || ContinuousClock.now < end {
            let running = session.dataTask(with: url) { _, _, _ in }
            running.resume()
            let child = forkProcess()
            if child == 0 {
                // A thread that waits for a lock cannot look at a clock.
                alarm(4)
                _exit(endsInNewProcess(session, url, running) ? 0 : 1)
            }
            children += 1
            var status: Int32 = 0
            waitpid(child, &status, 0)
            if status != 0 { failures += 1 }
        }
        say("without an end", "\(failures)")
    }

    private static func work(_ session: URLSession, _ url: URL) {
        let done = DispatchSemaphore(value: 0)
        let task = session.dataTask(with: url) { _, _, _ in done.signal() }
        task.resume()
        task.cancel()
        for _ in 0..<200 {
            session.sessionDescription = task.taskDescription
            task.taskDescription = "x"
        }
        done.wait()
    }

    /// Whether tasks end in a session of the parent's and in one of its own.
    private static func endsInNewProcess(_ session: URLSession, _ url: URL, _ running: URLSessionTask?) -> Bool {
        let done = DispatchSemaphore(value: 0)
        running?.cancel()
        session.dataTask(with: url) { _, _, _ in done.signal() }.resume()
        guard done.wait(timeout: .now() + 3) == .success else { return false }
        let other = URLSession(configuration: .ephemeral, delegate: Quiet(done), delegateQueue: nil)
        other.dataTask(with: url).resume()
        guard done.wait(timeout: .now() + 3) == .success else { return false }
        other.invalidateAndCancel()
        return true
    }

    private final class Quiet: NSObject, URLSessionDataDelegate {
        let done: DispatchSemaphore

        init(_ done: DispatchSemaphore) { self.done = done }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            done.signal()
        }
    }

    /// Swift hides `fork`, and rightly so: a program that calls it lives without its threads.
    private static func forkProcess() -> pid_t {
        typealias Fork = @convention(c) () -> pid_t
        guard let function = dlsym(nil, "fork") else { return -1 }
        return unsafeBitCast(function, to: Fork.self)()
    }

    // MARK: Without threads

    static func loadWithoutThreads(_ url: URL) {
        // Root is not limited.
        guard setgid(65_534) == 0, setuid(65_534) == 0 else { exit(4) }
        var before = rlimit()
        getrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &before)
        var none = rlimit(rlim_cur: 0, rlim_max: before.rlim_max)
        setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &none)
        let session = URLSession(configuration: .ephemeral)
        load("handler", url, in: session)
        let delegate = RecordingDelegate("delegate")
        let other = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
        other.dataTask(with: url).resume()
        wait(delegate.done, delegate.name)
        let file = DispatchSemaphore(value: 0)
        session.downloadTask(with: url) { _, _, error in
            say("download", text(error))
            file.signal()
        }.resume()
        wait(file, "download")
        let done = DispatchSemaphore(value: 0)
        session.dataTask(with: url) { _, _, error in
            say("cancelled", text(error))
            done.signal()
        }.cancel()
        wait(done, "cancelled")
        contents("contents", of: url)
        other.finishTasksAndInvalidate()
        wait(delegate.done, "invalid")
        say("invalid")
        // What was missing may come.
        setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &before)
        load("with threads", url, in: session)
    }

    // MARK: Without descriptors

    /// Before the first session of the process is made.
    static func loadWithoutDescriptors(_ url: URL) {
        var before = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        var none = rlimit(rlim_cur: 0, rlim_max: before.rlim_max)
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 0.5
        load("without descriptors", url, in: URLSession(configuration: configuration))
        let session = URLSession(configuration: .ephemeral)
        let waiting = begin("waits", url, in: session)
        let cancelled = begin("cancelled", url, in: session)
        cancelled.task.cancel()
        wait(cancelled.done, "cancelled")
        // What was missing may come.
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &before)
        wait(waiting.done, "waits")
    }
}
