import Foundation
import Glibc
import URLLoading

/// A process is killed repeatedly during a resumable upload. Whatever resume data it had saved, the server has the file
/// at the end, byte for byte.
enum KilledUpload {
    private static let size = 6_000_000

    static func run(_ options: Options) throws -> Bool {
        say("Killed upload: \(options.points) times, seed \(options.seed)")
        Watchdog.start(limit: 60 + options.points)
        let folder = NSTemporaryDirectory() + "soak-upload-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (file, state) = (folder + "/file", folder + "/state")
        var random = SeededGenerator(seed: options.seed)
        var bytes = Data(count: size)
        for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: random.next()) }
        try bytes.write(to: URL(fileURLWithPath: file))
        let server = try UploadServer()
        var findings = 0
        var (kills, uploads) = (0, 0)
        var isOver = false
        while !isOver {
            let child = try ChildProcess(
                ["--killed-upload", server.url, file, state, "\(options.seed)", "\(kills)"], readsOutput: false)
            if kills < options.points {
                usleep(UInt32(random.number(0...120_000)))
            } else {
                // The last process may complete the upload.
                waitid(P_PID, id_t(child.identifier), nil, WEXITED | WNOWAIT)
                isOver = true
            }
            kill(child.identifier, SIGKILL)
            let outcome = child.wait()
            if outcome == "signal \(SIGKILL)" { kills += 1 }
            if outcome == "exit 0" { unlink(state) }
            if outcome != "exit 0", outcome != "signal \(SIGKILL)" || isOver {
                findings += 1
                say("FOUND: a process that uploads ended as \(outcome)")
            }
            for upload in server.takeComplete() {
                uploads += 1
                if upload != bytes {
                    findings += 1
                    say("FOUND: the server has something else, \(upload.count) bytes")
                }
            }
        }
        for fault in server.faults { say("FOUND: \(fault)") }
        findings += server.faults.count + (uploads == 0 ? 1 : 0)
        say("  \(kills) processes were killed, \(uploads) uploads are complete")
        say("Killed upload: \(findings == 0 ? "nothing was found." : "\(findings) findings.")")
        return findings == 0
    }

    /// Uploads, and saves resume data from time to time.
    static func beTheChild(_ arguments: [String]) -> Never {
        guard arguments.count == 5, let url = URL(string: arguments[0]), let seed = UInt64(arguments[3]),
            let number = Int(arguments[4])
        else { exit(2) }
        let (file, state) = (URL(fileURLWithPath: arguments[1]), URL(fileURLWithPath: arguments[2]))
        var random = SeededGenerator(seed: seed, series: number)
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        let session = URLSession(configuration: .ephemeral)
        while true {
            let end = End()
            let task =
                if let data = try? Data(contentsOf: state) {
                    session.uploadTask(withResumeData: data) { end.finish($1, $2) }
                } else {
                    session.uploadTask(with: request, fromFile: file) { end.finish($1, $2) }
                }
            task.resume()
            if end.wait(milliseconds: random.number(5...60)) {
                exit(end.isGood ? 0 : 3)
            }
            let isKept = DispatchSemaphore(value: 0)
            task.cancel(byProducingResumeData: { data in
                // Nil until the server has offered resumption. Earlier resume data remain valid.
                try? data?.write(to: state, options: .atomic)
                isKept.signal()
            })
            isKept.wait()
            _ = end.wait(milliseconds: 60_000)
            if end.isGood { exit(0) }
            if !end.isCancelled { exit(3) }
        }
    }

    /// The result of a task.
    private final class End: @unchecked Sendable {
        // Sendable because the values are written before the semaphore is signalled, and read after.
        private let semaphore = DispatchSemaphore(value: 0)
        private(set) var isGood = false
        private(set) var isCancelled = false

        func finish(_ response: URLResponse?, _ error: (any Error)?) {
            isGood = error == nil && (response as? HTTPURLResponse)?.statusCode.description.first == "2"
            isCancelled = (error as? URLError)?.code == .cancelled
            semaphore.signal()
        }

        func wait(milliseconds: Int) -> Bool {
            semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success
        }
    }
}
