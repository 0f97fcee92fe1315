// Starts a download and ends. When the download is done, the background service launches the program again, which moves
// the file.
//
//     swift run background-download https://example.org/big.iso /tmp/big.iso
import URLLoading

final class Downloads: NSObject, URLSessionDownloadDelegate, Sendable {
    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        guard let target = downloadTask.taskDescription else { return }
        try? FileManager.default.removeItem(atPath: target)
        try? FileManager.default.moveItem(atPath: location.path, toPath: target)
    }

    // All events were delivered.
    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { exit(0) }
}

let configuration = URLSessionConfiguration.background(withIdentifier: "downloads")
configuration.backgroundLaunch = Bundle.main.executablePath.map { .command($0) }
let session = URLSession(configuration: configuration, delegate: Downloads(), delegateQueue: nil)

// Launched again: the delegate gets the missed events.
if URLSession.launchedBackgroundIdentifier != nil { dispatchMain() }

let arguments = CommandLine.arguments
guard arguments.count == 3, let url = URL(string: arguments[1]) else {
    print("usage: background-download URL FILE")
    exit(2)
}
let task = session.downloadTask(with: url)
task.taskDescription = URL(fileURLWithPath: arguments[2]).path
task.resume()
print("task \(task.taskIdentifier) goes on without this program: urlsession background watch")
