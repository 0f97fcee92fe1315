import Dispatch
import Foundation
import URLLoading

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Carries out `urlsession download`: to a file, going on where an earlier process stopped or was killed.
///
/// Unchecked: as the class it comes from. `records` comes from elsewhere, on a queue.
final class Download: CommandLoad, URLSessionDownloadDelegate, @unchecked Sendable {
    private let target: String
    private let kept: UnfinishedDownload
    /// Writes what is kept, in order.
    private let records = DispatchQueue(label: "urlsession.records")

    /// What this download goes on from.
    private var earlier: DownloadRecord?
    private var didResume = false
    private var hasAsked = false
    private var expected: Int64 = -1
    private var isDelivered = false

    init(_ command: CommandLineRequest, terminal: Terminal) throws(UsageError) {
        let builder = try RequestBuilder(command)
        let challenges = try ChallengeAnswers(command, url: builder.request.url)
        do throws(TransferFailure) {
            target = try Self.target(command)
            kept = try UnfinishedDownload.claim(for: target)
        } catch {
            throw UsageError(error.message, exitCode: error.exitCode)
        }
        super.init(command, builder, challenges, terminal: terminal, drawsProgress: true, keeping: .none)
    }

    /// The file to write, where a link leads to it. Nothing but a file is replaced.
    private static func target(_ command: CommandLineRequest) throws(TransferFailure) -> String {
        guard case .file(let path) = command.destination else { throw TransferFailure(.usage, "there is no file") }
        let shown = TextSanitizer.clean(path)
        var status = stat()
        guard stat(path, &status) == 0 else { return path }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw TransferFailure(.writeError, "'\(shown)' is there and is no file: use get, with -o")
        }
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    func run() -> ExitCode {
        if let code = endBeforeLoading() { return code }
        let configuration = RequestBuilder.configuration(command)
        configuration.downloadFolder = kept.folder
        if let earlier {
            configuration.httpAdditionalHeaders = secretFields()
            kept.keepSpare(earlier)
        }
        load(configuration) { session in
            if let data = earlier?.resumeData { return session.downloadTask(withResumeData: data) }
            return session.downloadTask(with: builder.request)
        }
        return conclude()
    }

    // MARK: Before the load

    /// Looks at what is there. Nil if there is something to load.
    private func endBeforeLoading() -> ExitCode? {
        let record = kept.readRecord()
        if let record, record.whole != nil, record.url == plainURL {
            if kept.isDelivered(record) {
                kept.remove()
                say("'\(shownTarget)' is complete already")
                return .success
            }
            if let file = kept.wholeFile(record) { return finishEarlier(file) }
        }
        if access(target, F_OK) == 0, !command.replacesFile {
            if record == nil { kept.remove() }
            return report(
                TransferFailure(.writeError, "'\(shownTarget)' is there already: --force loads it again"))
        }
        if let record, record.whole == nil, command.resumes {
            if record.url == plainURL {
                earlier = record
                return nil
            }
            say("what was kept beside '\(shownTarget)' is of another URL: beginning anew")
        }
        kept.clear()
        return nil
    }

    private func finishEarlier(_ file: String) -> ExitCode {
        do throws(TransferFailure) {
            if access(target, F_OK) == 0, !command.replacesFile {
                throw TransferFailure(.writeError, "'\(shownTarget)' is there already: --force replaces it")
            }
            try kept.deliver(file, of: plainURL)
            kept.remove()
            say("'\(shownTarget)' was complete, and is in its place now")
            return .success
        } catch {
            return report(error)
        }
    }

    /// Resume data has none of these, so they are said again.
    private func secretFields() -> [String: String] {
        let names: Set<String> = ["authorization", "proxy-authorization", "cookie"]
        let fields = RequestBuilder.fields(command).filter { names.contains($0.name.lowercased()) }
        return Dictionary(fields.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }

    // MARK: CommandLoad

    override func follows(_ redirect: HTTPURLResponse, _ task: URLSessionTask) -> Bool {
        if !command.followsRedirects {
            stop.set(TransferFailure(.httpError, "\(shownURL) leads elsewhere: --follow goes there"))
        }
        return true
    }

    override func interrupt(_ task: URLSessionTask) {
        guard let task = task as? URLSessionDownloadTask else { return task.cancel() }
        task.cancel { [self] data in if let data { keep(data, task) } }
    }

    override func ended(_ task: URLSessionTask) {
        if let data = (loadError as? URLError)?.downloadTaskResumeData { keep(data, task) }
    }

    // MARK: URLSessionDownloadDelegate

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        didResume = true
        received = fileOffset
        expected = expectedTotalBytes
        progress?.begin(at: fileOffset)
        say("going on at \(amount)")
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        guard accepts(downloadTask) else { return }
        received = totalBytesWritten
        expected = totalBytesExpectedToWrite
        progress?.update(received: received, expected: expected)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        guard accepts(downloadTask) else { return }
        // No record comes after the one that this writes.
        let failure: TransferFailure? = records.sync {
            do throws(TransferFailure) {
                try kept.deliver(location.path, of: plainURL)
                return nil
            } catch {
                return error
            }
        }
        isDelivered = failure == nil
        if let failure { stop.set(failure) }
    }

    // MARK: While it comes

    /// Whether what comes is the file that was asked for. The page of an error is not.
    private func accepts(_ task: URLSessionDownloadTask) -> Bool {
        guard !hasAsked else { return stop.value == nil }
        hasAsked = true
        if let response = task.response as? HTTPURLResponse {
            if response.statusCode >= 300 {
                end(task, .httpError, shown(response))
                return false
            }
        }
        if let earlier, !didResume {
            let isSame = validator(of: task).map { $0 == earlier.validator } ?? false
            say(
                isSame
                    ? "the server does not go on where it stopped: beginning anew"
                    : "the file on the server has changed: beginning anew")
        }
        task.resumeDataUnderWay { [self] data in
            guard let data else { return }
            records.async { [self] in writeRecord(data, task) }
        }
        return stop.value == nil
    }

    private func keep(_ data: Data, _ task: URLSessionTask) {
        records.sync { writeRecord(data, task) }
    }

    private func writeRecord(_ data: Data, _ task: URLSessionTask) {
        let validator = validator(of: task) ?? earlier?.validator
        kept.write(DownloadRecord(url: plainURL, resumeData: data, validator: validator))
    }

    private func validator(of task: URLSessionTask) -> String? {
        guard let response = task.response as? HTTPURLResponse else { return nil }
        return response.value(forHTTPHeaderField: "ETag") ?? response.value(forHTTPHeaderField: "Last-Modified")
    }

    // MARK: Ending

    private func conclude() -> ExitCode {
        let failure = failure(hasResponse: hasAsked, expected: expected)
        if isDelivered, failure == nil { kept.remove() }
        let code = report(failure)
        if failure == nil { say("'\(shownTarget)', \(Quantity.bytes(received))") } else { tellWhatIsKept() }
        return code
    }

    private func tellWhatIsKept() {
        guard let record = kept.readRecord() else {
            kept.remove()
            if received > 0 { say("nothing is kept: the server says nothing by which the download could go on") }
            return
        }
        say("\(Quantity.bytes(kept.received(record))) are kept in '\(shownTarget).download': the same command goes on")
    }

    private func report(_ failure: TransferFailure?) -> ExitCode {
        var report = TransferReport(command: command, terminal: terminal, narrator: narrator)
        report.metrics = metrics
        report.failure = failure
        report.tunnelRounds = heads.tunnelRounds
        return report.conclude()
    }

    // MARK: Words

    private var shownTarget: String {
        guard case .file(let path) = command.destination else { return TextSanitizer.clean(target) }
        return TextSanitizer.clean(path)
    }

    private var amount: String {
        expected > 0 ? "\(Quantity.bytes(received)) of \(Quantity.bytes(expected))" : Quantity.bytes(received)
    }

    private func say(_ text: String) {
        guard !command.isSilent else { return }
        let line = "urlsession: \(text)\n"
        if let progress { progress.interrupt { StandardError.write(line) } } else { StandardError.write(line) }
    }
}
