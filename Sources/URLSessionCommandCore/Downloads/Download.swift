import Dispatch
import Foundation
import URLLoading

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Runs `urlsession download`: downloads to a file, and resumes where an earlier process ended.
///
/// Unchecked: as the superclass. Records are written on the queue `records`.
final class Download: CommandLoad, URLSessionDownloadDelegate, @unchecked Sendable {
    private let target: String
    private let unfinished: UnfinishedDownload
    /// Serializes the writes of records.
    private let records = DispatchQueue(label: "urlsession.records")

    /// The record of the earlier download that this one resumes.
    private var earlier: DownloadRecord?
    private var didResume = false
    private var hasCheckedResponse = false
    private var expected: Int64 = -1
    private var isInstalled = false

    init(_ command: CommandLineRequest, terminal: Terminal) throws(UsageError) {
        let builder = try RequestBuilder(command)
        let challenges = try ChallengeResponder(command, url: builder.request.url)
        do throws(TransferFailure) {
            target = try Self.target(command)
            unfinished = try UnfinishedDownload.claim(for: target)
        } catch {
            throw UsageError(error.message, exitCode: error.exitCode)
        }
        super.init(command, builder, challenges, terminal: terminal, drawsProgress: true, retaining: .none)
    }

    /// The path of the file to write, with symbolic links resolved. Only a regular file is replaced.
    private static func target(_ command: CommandLineRequest) throws(TransferFailure) -> String {
        guard case .file(let path) = command.destination else { throw TransferFailure(.usage, "there is no file") }
        let shown = TextSanitizer.clean(path)
        var status = stat()
        guard stat(path, &status) == 0 else { return path }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw TransferFailure(.writeError, "'\(shown)' exists and is not a regular file: use get with -o")
        }
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    func run() -> ExitCode {
        if let code = endBeforeLoading() { return code }
        let configuration = RequestBuilder.configuration(command)
        configuration.downloadFolder = unfinished.folder
        if let earlier {
            // As those of the configuration, because the library removes from them what a redirect has removed.
            let fields: [String: String] = Dictionary(
                RequestBuilder.fields(command).map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
            configuration.httpAdditionalHeaders = fields
            unfinished.backUp(earlier)
        }
        load(configuration) { session in
            // A record of an earlier version may have fields.
            if let data = earlier?.resumeData.flatMap(URLSessionDownloadTask.withoutFields(inResumeData:)) {
                return session.downloadTask(withResumeData: data)
            }
            return session.downloadTask(with: builder.request)
        }
        return conclude()
    }

    // MARK: Before the load

    /// Handles existing files. Nil if there is something to load.
    private func endBeforeLoading() -> ExitCode? {
        let record = unfinished.readRecord()
        if let record, record.whole != nil, record.url == plainURL {
            if unfinished.isInstalled(record) {
                unfinished.remove()
                printMessage("'\(shownTarget)' is complete already")
                return .success
            }
            if let file = unfinished.completeFile(record) { return installEarlierFile(file) }
        }
        if access(target, F_OK) == 0, !command.replacesFile {
            if record == nil { unfinished.remove() }
            return report(
                TransferFailure(.writeError, "'\(shownTarget)' already exists: --force downloads it again"))
        }
        if let record, record.whole == nil, command.resumes {
            if record.url == plainURL {
                earlier = record
                return nil
            }
            printMessage("the partial data beside '\(shownTarget)' is from another URL: starting over")
        }
        unfinished.clear()
        return nil
    }

    private func installEarlierFile(_ file: String) -> ExitCode {
        do throws(TransferFailure) {
            if access(target, F_OK) == 0, !command.replacesFile {
                throw TransferFailure(.writeError, "'\(shownTarget)' already exists: --force replaces it")
            }
            try unfinished.install(file, of: plainURL)
            unfinished.remove()
            printMessage("'\(shownTarget)' was already downloaded, and is now in place")
            return .success
        } catch {
            return report(error)
        }
    }

    // MARK: CommandLoad

    override func follows(_ redirect: HTTPURLResponse, _ task: URLSessionTask) -> Bool {
        if !command.followsRedirects {
            stop.set(TransferFailure(.httpError, "\(shownURL) is a redirect: use --follow to follow it"))
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
        printMessage("resuming at \(amount)")
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
        // `install` writes the last record; `sync` orders it after all others.
        let failure: TransferFailure? = records.sync {
            do throws(TransferFailure) {
                try unfinished.install(location.path, of: plainURL)
                return nil
            } catch {
                return error
            }
        }
        isInstalled = failure == nil
        if let failure { stop.set(failure) }
    }

    // MARK: Receiving

    /// Whether the response is the requested file. An error page is not.
    private func accepts(_ task: URLSessionDownloadTask) -> Bool {
        guard !hasCheckedResponse else { return stop.value == nil }
        hasCheckedResponse = true
        if let response = task.response as? HTTPURLResponse {
            if response.statusCode >= 300 {
                end(task, .httpError, shown(response))
                return false
            }
        }
        if let earlier, !didResume {
            let isSame = validator(of: task).map { $0 == earlier.validator } ?? false
            printMessage(
                isSame
                    ? "the server does not resume: starting over"
                    : "the file on the server has changed: starting over")
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
        // The fields may be secret, and the next run has its own.
        guard let data = URLSessionDownloadTask.withoutFields(inResumeData: data) else { return }
        let validator = validator(of: task) ?? earlier?.validator
        unfinished.write(DownloadRecord(url: plainURL, resumeData: data, validator: validator))
    }

    private func validator(of task: URLSessionTask) -> String? {
        guard let response = task.response as? HTTPURLResponse else { return nil }
        return response.value(forHTTPHeaderField: "ETag") ?? response.value(forHTTPHeaderField: "Last-Modified")
    }

    // MARK: Ending

    private func conclude() -> ExitCode {
        let failure = failure(hasResponse: hasCheckedResponse, expected: expected)
        if isInstalled, failure == nil { unfinished.remove() }
        let code = report(failure)
        if failure == nil { printMessage("'\(shownTarget)', \(Quantity.bytes(received))") } else { reportPartialData() }
        return code
    }

    private func reportPartialData() {
        guard let record = unfinished.readRecord() else {
            unfinished.remove()
            if received > 0 { printMessage("no partial data is kept: the server sent no validator to resume with") }
            return
        }
        printMessage(
            "\(Quantity.bytes(unfinished.received(record))) are kept in '\(shownTarget).download': run the same command to resume"
        )
    }

    private func report(_ failure: TransferFailure?) -> ExitCode {
        var report = TransferReport(command: command, terminal: terminal, verboseOutput: verboseOutput)
        report.metrics = metrics
        report.failure = failure
        report.tunnelExchanges = heads.tunnelExchanges
        return report.conclude()
    }

    // MARK: Messages

    private var shownTarget: String {
        guard case .file(let path) = command.destination else { return TextSanitizer.clean(target) }
        return TextSanitizer.clean(path)
    }

    private var amount: String {
        expected > 0 ? "\(Quantity.bytes(received)) of \(Quantity.bytes(expected))" : Quantity.bytes(received)
    }

    private func printMessage(_ text: String) {
        guard !command.isSilent else { return }
        let line = "urlsession: \(text)\n"
        if let progress { progress.interrupt { StandardError.write(line) } } else { StandardError.write(line) }
    }
}
