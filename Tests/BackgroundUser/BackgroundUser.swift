import Foundation
import Glibc
import URLLoading

/// Uses a background session, and ends in different ways.
///
///     background-user start IDENTIFIER exit|die URL…   makes a download of each URL, and ends when all are resumed
///     background-user finish IDENTIFIER COUNT [die N]  is told the rest, until so many tasks have ended; with `die` it is killed
///                                                      within the callback number N, from 1
///     background-user list IDENTIFIER                  lists the tasks
///     background-user launched                         is launched for events
///
/// Each line on standard output is a callback.
@main enum BackgroundUser {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        switch words.first {
        case "start": start(words[1], dies: words[2] == "die", words[3...].compactMap { URL(string: $0) })
        case "finish": finish(words[1], count: Int(words[2]) ?? 0, fatal: words.count > 4 ? Int(words[4]) : nil)
        case "list": list(words[1])
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

    private static func finish(_ identifier: String, count: Int, fatal: Int?) {
        let delegate = Teller(count: count, fatal: fatal)
        let session = session(identifier, delegate)
        delegate.finished.wait()
        withExtendedLifetime(session) {}
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
