import Foundation
import Glibc
import URLLoading

/// Transfers a file that is larger than the memory limit, in both directions. Memory does not grow.
enum LargeFile {
    /// In addition to the idle process.
    private static let memoryLimit = 16_000_000

    static func run(_ options: Options) throws -> Bool {
        let size = options.size * 1_000_000
        say("Large file: \(options.size) MB")
        let folder = NSTemporaryDirectory() + "soak-large-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        guard hasRoom(for: size, in: folder) else {
            say("Large file: there is too little room in \(folder)")
            return false
        }
        let server = try ServerProcess()
        defer { server.stop() }
        Watchdog.start(limit: 120 + options.size / 5)
        let sparse = folder + "/sparse"
        guard SparseBody.write(to: sparse, size: size) else {
            say("Large file: the file to upload cannot be made")
            return false
        }
        var isClean = true
        for isSecure in [false, true] {
            let base = isSecure ? "https://127.0.0.1:\(server.ports.secure)" : "http://127.0.0.1:\(server.ports.plain)"
            for method in Carrier.Method.allCases {
                let answer = method == .download ? ServerScript.counted(size: size) : .upload(size: size)
                guard let url = URL(string: base + answer.path),
                    let small = URL(string: base + ServerScript.counted(size: 1000).path)
                else { return false }
                let carrier = Carrier(folder: folder)
                // Allocates everything that is allocated only once.
                _ = carrier.download(small, 1000)
                Allocator.trim()
                let idle = ProcessState.current.resident
                ProcessState.forgetPeak()
                let begin = DispatchTime.now().uptimeNanoseconds
                let outcome =
                    method == .download
                    ? carrier.download(url, size)
                    : carrier.upload(URL(fileURLWithPath: sparse), by: method, to: url, size)
                let seconds = Double(carrier.end - begin) / 1e9
                let memory = carrier.peak - idle
                let isGood = outcome == "whole" && (memory < memoryLimit || ProcessState.isSanitized)
                isClean = isClean && isGood
                say(
                    "  \(isSecure ? "https" : "http ") \(method.rawValue) \(outcome), "
                        + "memory \(memory / 1024) KB over idle, \(Int(Double(size) / 1e6 / seconds)) MB/s"
                        + (isGood ? "" : "  FOUND"))
            }
        }
        say("Large file: \(isClean ? "nothing was found." : "FOUND")")
        return isClean
    }

    /// Space for the download. The uploaded file is sparse.
    private static func hasRoom(for size: Int, in folder: String) -> Bool {
        var status = statvfs()
        guard statvfs(folder, &status) == 0 else { return false }
        return Int(status.f_bavail) * Int(status.f_frsize) > size + 1_000_000_000
    }
}

/// Downloads to a file and uploads from one.
private final class Carrier: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable because it changes only on the delegate queue, while a thread waits for the end.
    enum Method: String, CaseIterable {
        case download = "download        "
        case uploadOfFile = "upload of file  "
        case uploadOfStream = "upload of stream"
    }

    private(set) var peak = 0
    private(set) var end: UInt64 = 0
    private let folder: String
    private let ended = DispatchSemaphore(value: 0)
    private var failure: (any Error)?
    private var answer = Data()
    /// The file of the body stream.
    private var source: URL?
    private var file: String { folder + "/body" }

    init(folder: String) { self.folder = folder }

    func download(_ url: URL, _ size: Int) -> String {
        carry { $0.downloadTask(with: url) }
        defer { unlink(file) }
        if let failure { return "\(failure)" }
        return check(size)
    }

    func upload(_ source: URL, by method: Method, to url: URL, _ size: Int) -> String {
        var request = URLRequest(url: url)
        request.httpMethod = "PUT"
        answer = Data()
        if method == .uploadOfStream {
            request.setValue("\(size)", forHTTPHeaderField: "Content-Length")
            self.source = source
            carry { $0.uploadTask(withStreamedRequest: request) }
        } else {
            carry { $0.uploadTask(with: request, fromFile: source) }
        }
        if let failure { return "\(failure)" }
        let text = String(decoding: answer, as: UTF8.self)
        return text == "\(size)" ? "whole" : text
    }

    private func carry(_ make: (URLSession) -> URLSessionTask) {
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
        make(session).resume()
        ended.wait()
        // Before the file is compared.
        peak = ProcessState.peak
        end = DispatchTime.now().uptimeNanoseconds
        session.invalidateAndCancel()
    }

    private func check(_ size: Int) -> String {
        guard let handle = FileHandle(forReadingAtPath: file) else { return "no file" }
        defer { try? handle.close() }
        var position = 0
        while let data = try? handle.read(upToCount: BodyPattern.longest), !data.isEmpty {
            guard BodyPattern.matches(data, at: position) else { return "other bytes behind \(position)" }
            position += data.count
        }
        return position == size ? "whole" : "\(position) bytes"
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        rename(location.path, file)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(source.flatMap { InputStream(url: $0) })
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { answer.append(data) }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        failure = error
        ended.signal()
    }
}
