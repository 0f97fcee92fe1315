// Downloads a file and shows the progress. A run that fails or is interrupted leaves FILE.resume, with which the next
// run continues.
//
//     swift run downloader https://example.org/big.iso big.iso
import URLLoading

final class Download: NSObject, URLSessionDownloadDelegate, Sendable {
    let target: String
    let resume: String

    init(target: String) {
        self.target = target
        resume = target + ".resume"
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        // The length is −1 if the server does not announce it.
        let share = totalBytesExpectedToWrite > 0 ? " (\(100 * totalBytesWritten / totalBytesExpectedToWrite) %)" : ""
        FileHandle.standardError.write(Data("\r\(totalBytesWritten / 1024) KiB\(share)".utf8))
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        print("continues at \(fileOffset / 1024) KiB")
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        let status = (downloadTask.response as? HTTPURLResponse)?.statusCode ?? 0
        guard (200...299).contains(status) else { return print("\nstatus \(status)") }
        do {
            // The file is removed when this returns.
            try? FileManager.default.removeItem(atPath: target)
            try FileManager.default.moveItem(atPath: location.path, toPath: target)
            print("\n\(target)")
        } catch {
            print("\n\(error.localizedDescription)")
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        try? FileManager.default.removeItem(atPath: resume)
        if let error {
            print("\n\(error.localizedDescription)")
            try? (error as? URLError)?.downloadTaskResumeData?.write(to: URL(fileURLWithPath: resume))
        }
        exit(error == nil ? 0 : 1)
    }
}

guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[1]) else {
    print("usage: downloader URL FILE")
    exit(2)
}
let delegate = Download(target: CommandLine.arguments[2])
let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
let resumeData = try? Data(contentsOf: URL(fileURLWithPath: delegate.resume))
let task = resumeData.map { session.downloadTask(withResumeData: $0) } ?? session.downloadTask(with: url)

// Ctrl-C cancels the task, whose error then has the resume data.
signal(SIGINT, SIG_IGN)
let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
interrupt.setEventHandler { task.cancel(byProducingResumeData: { _ in }) }
interrupt.resume()
task.resume()
dispatchMain()
