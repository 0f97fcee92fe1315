// Uploads a file. If the server supports resumable uploads, a lost connection is resumed automatically, and a run that
// was interrupted with Ctrl-C leaves FILE.resume, with which the next run continues.
//
//     swift run resuming-uploader photo.jpg https://example.org/in
import URLLoading

final class Upload: NSObject, URLSessionDataDelegate, Sendable {
    let resume: URL

    init(resume: URL) { self.resume = resume }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        let progress = "\r\(totalBytesSent / 1024) of \(totalBytesExpectedToSend / 1024) KiB"
        FileHandle.standardError.write(Data(progress.utf8))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
        if response.statusCode == 104 { print("\nthe server can resume this upload") }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        try? FileManager.default.removeItem(at: resume)
        if let error {
            print("\n\(error.localizedDescription)")
            if let data = (error as? URLError)?.uploadTaskResumeData, (try? data.write(to: resume)) != nil {
                print("run the same command to continue")
            }
            exit(1)
        }
        let status = (task.response as? HTTPURLResponse)?.statusCode ?? 0
        print("\nstatus \(status)")
        exit((200...299).contains(status) ? 0 : 1)
    }
}

guard CommandLine.arguments.count == 3, let url = URL(string: CommandLine.arguments[2]) else {
    print("usage: resuming-uploader FILE URL")
    exit(2)
}
let file = URL(fileURLWithPath: CommandLine.arguments[1])
let resume = URL(fileURLWithPath: CommandLine.arguments[1] + ".resume")
let session = URLSession(configuration: .ephemeral, delegate: Upload(resume: resume), delegateQueue: nil)
var request = URLRequest(url: url)
request.httpMethod = "PUT"
let task =
    if let data = try? Data(contentsOf: resume) {
        session.uploadTask(withResumeData: data)
    } else {
        session.uploadTask(with: request, fromFile: file)
    }

signal(SIGINT, SIG_IGN)
let interrupt = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
interrupt.setEventHandler { task.cancel(byProducingResumeData: { _ in }) }
interrupt.resume()
task.resume()
dispatchMain()
