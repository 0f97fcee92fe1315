import Dispatch
import URLLoading

/// Starts a download and exits. When the download is done, the background service launches the program again, which moves the file.
///
///     swift run background-download https://example.org/big.iso /tmp/big.iso
@main enum BackgroundDownload {
    static func main() {
        // Launched for events: only takes them.
        if let identifier = URLSession.launchedBackgroundIdentifier {
            URLSession.handleEventsForBackgroundSessions { _, done in Downloads(identifier, whenDone: done).wait() }
            return
        }
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let url = URL(string: arguments[1]) else { fatalError("usage: URL FILE") }
        let downloads = Downloads("example")
        let task = downloads.session.downloadTask(with: url)
        task.taskDescription = URL(fileURLWithPath: arguments[2]).path
        task.resume()
        print("task \(task.taskIdentifier) goes on without this program")
    }
}

final class Downloads: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // Sendable: nothing changes after the session was made.
    private(set) var session: URLSession!
    private let whenDone: (@Sendable () -> Void)?
    private let isDone = DispatchSemaphore(value: 0)

    init(_ identifier: String, whenDone: (@Sendable () -> Void)? = nil) {
        self.whenDone = whenDone
        super.init()
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.backgroundLaunch = Bundle.main.executablePath.map { .command($0) }
        session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
    }

    func wait() { isDone.wait() }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        guard let path = downloadTask.taskDescription else { return }
        let target = URL(fileURLWithPath: path)
        try? FileManager.default.removeItem(at: target)
        try? FileManager.default.moveItem(at: location, to: target)
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        whenDone?()
        isDone.signal()
    }
}
