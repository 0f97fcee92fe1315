import Foundation
import Glibc
import URLLoading

/// Uploads of a file and of a stream that are larger than any buffer: memory stays where it was.
enum LargeUpload {
    /// Memory over that of the idle process.
    private static let mostMemory = 16_000_000

    static func run(_ options: Options) throws -> Bool {
        let size = options.size * 1_000_000
        say("Large upload: \(options.size) MB")
        let server = try ServerProcess()
        defer { server.stop() }
        Watchdog.start(limit: 60 + options.size / 5)
        let path = NSTemporaryDirectory() + "soak-large-\(getpid())"
        defer { unlink(path) }
        FileManager.default.createFile(atPath: path, contents: nil)
        var isClean = truncate(path, off_t(size)) == 0
        for isSecure in [false, true] {
            let base = isSecure ? "https://127.0.0.1:\(server.ports.secure)" : "http://127.0.0.1:\(server.ports.plain)"
            let answer = Answer.body(size: 0, framing: .length, after: 0)
            guard let url = URL(string: base + answer.path) else { return false }
            for isStream in [false, true] {
                // Whatever is made once is made before.
                _ = Uploader(Data()).run(url)
                Allocator.trim()
                let idle = ProcessState.current.resident
                ProcessState.forgetPeak()
                let begin = DispatchTime.now()
                let uploader = Uploader(URL(fileURLWithPath: path), length: size, isStream: isStream)
                let outcome = uploader.run(url)
                let seconds = Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9
                let memory = ProcessState.peak - idle
                let isGood =
                    outcome == "200" && uploader.sent == size && (memory < mostMemory || ProcessState.isSanitized)
                isClean = isClean && isGood
                say(
                    "  \(isSecure ? "https" : "http ") \(isStream ? "stream" : "file  ") \(outcome), "
                        + "\(uploader.sent / 1_000_000) MB in \(Int(seconds * 10)) tenths of a second, "
                        + "memory \(memory / 1024) KB over idle" + (isGood ? "" : "  FOUND"))
            }
        }
        say("Large upload: \(isClean ? "nothing was found." : "FOUND")")
        return isClean
    }

    private final class Uploader: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
        // Sendable because it changes on the delegate queue only, and is read when that has ended.
        private enum Content {
            case data(Data)
            case file(URL)
            case stream(URL)
        }

        private let content: Content
        private let length: Int
        private let ended = DispatchSemaphore(value: 0)
        private var outcome = ""
        private(set) var sent = 0

        init(_ data: Data) {
            content = .data(data)
            length = data.count
        }

        init(_ file: URL, length: Int, isStream: Bool) {
            content = isStream ? .stream(file) : .file(file)
            self.length = length
        }

        func run(_ url: URL) -> String {
            let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            switch content {
            case .data(let data): session.uploadTask(with: request, from: data).resume()
            case .file(let file): session.uploadTask(with: request, fromFile: file).resume()
            case .stream:
                request.setValue("\(length)", forHTTPHeaderField: "Content-Length")
                session.uploadTask(withStreamedRequest: request).resume()
            }
            ended.wait()
            session.invalidateAndCancel()
            return outcome
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            guard case .stream(let file) = content else { return completionHandler(nil) }
            completionHandler(InputStream(url: file))
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
            totalBytesExpectedToSend: Int64
        ) {
            sent = Int(totalBytesSent)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            outcome = error.map { "\($0)" } ?? "\((task.response as? HTTPURLResponse)?.statusCode ?? 0)"
            ended.signal()
        }
    }
}
