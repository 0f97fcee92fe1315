import Dispatch
import Foundation
import URLLoading

/// Carries out one load: a delegate that passes each piece of the body on as it comes.
///
/// Unchecked: everything that changes belongs to the session's delegate queue, which is serial, and is
/// read by the caller of `run` after `finished`; `stop` alone comes from elsewhere and is behind a lock.
final class Transfer: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let command: CommandLineRequest
    private let builder: RequestBuilder
    private let security: SecurityAnswers
    private let user: UserAnswers
    private let terminal: Terminal
    private let output: TransferOutput
    private let narrator: Narrator
    private let progress: ProgressBar?
    private let started = DispatchTime.now().uptimeNanoseconds
    private let finished = DispatchSemaphore(value: 0)

    private var response: URLResponse?
    private var redirects = 0
    private var received: Int64 = 0
    private var requestBody: HARRecord.Body?
    private var responseBody: HARRecord.Body?
    private var metrics: URLSessionTaskMetrics?
    private var loadError: (any Error)?
    /// Why this side ended the load; stronger than the error that the cancellation brings.
    private let stop = StopReason()

    init(_ command: CommandLineRequest, terminal: Terminal) throws(UsageError) {
        self.command = command
        self.terminal = terminal
        builder = try RequestBuilder(command)
        security = try SecurityAnswers(command)
        user = try UserAnswers(command, url: builder.request.url)
        output = TransferOutput(command, terminal: terminal)
        narrator = Narrator(command, terminal: terminal)
        let isQuiet = command.isSilent || !command.showsProgress || command.verbosity > 0
        progress = terminal.errorIsTerminal && !output.isTerminal && !isQuiet ? ProgressBar(terminal: terminal) : nil
        if command.harPath != nil {
            responseBody = HARRecord.Body()
            switch builder.body {
            case .data(let data): requestBody = HARRecord.Body(data)
            case .file, .standardInput, .none: break
            }
        }
    }

    /// Loads and waits until all is printed.
    func run() -> ExitCode {
        let session = URLSession(
            configuration: RequestBuilder.configuration(command), delegate: self, delegateQueue: nil)
        let task = session.dataTask(with: builder.streamedRequest)
        let interruption = Interruption { [stop, progress] code in
            stop.set(TransferFailure(code, ""))
            progress?.end()
            task.cancel()
        }
        if command.isInsecure, !command.isSilent {
            StandardError.write("urlsession: warning: -k takes any certificate; anybody may be at the other end\n")
        }
        narrator.request(task.currentRequest ?? builder.request)
        progress?.begin()
        task.resume()
        session.finishTasksAndInvalidate()
        finished.wait()
        progress?.end()
        interruption.end()
        return conclude()
    }

    // MARK: URLSessionDelegate

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let trust = challenge.protectionSpace.serverTrust else {
            if challenge.protectionSpace.authenticationMethod != NSURLAuthenticationMethodClientCertificate {
                let answer = user.answer(to: challenge)
                return completionHandler(answer.0, answer.1)
            }
            if let credential = security.clientCredential { return completionHandler(.useCredential, credential) }
            return completionHandler(.performDefaultHandling, nil)
        }
        switch security.answer(to: trust) {
        case .defaultHandling: completionHandler(.performDefaultHandling, nil)
        case .trust: completionHandler(.useCredential, URLCredential(trust: trust))
        case .distrust: completionHandler(.rejectProtectionSpace, nil)
        case .otherKey:
            let host = TextSanitizer.clean(challenge.protectionSpace.host)
            stop.set(TransferFailure(.otherKey, "the key of \(host) is none of those that --pin allows"))
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    }

    // MARK: URLSessionTaskDelegate

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let answer = user.answer(to: challenge)
        completionHandler(answer.0, answer.1)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard command.followsRedirects else { return completionHandler(nil) }
        redirects += 1
        narrator.response(response)
        attempt(task) { () throws(WriteError) in try output.redirect(response) }
        if let limit = command.maximumRedirects, redirects > limit {
            let advice = "raise --max-redirects, or look with -v"
            stop.set(TransferFailure(.tooManyRedirects, "more than \(limit) redirects from \(shownURL): \(advice)"))
        }
        guard stop.value == nil else {
            // The question is answered before the task ends.
            completionHandler(nil)
            return task.cancel()
        }
        narrator.redirect(to: request)
        completionHandler(request)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        self.metrics = metrics
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        loadError = error
        if stop.value == nil {
            attempt(task) { () throws(WriteError) in try output.finish() }
        }
        finished.signal()
    }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        self.response = response
        received = 0
        if let http = response as? HTTPURLResponse {
            narrator.response(http)
            if command.failsOnHTTPError, http.statusCode >= 400 {
                let reason = StatusText.reason(http.statusCode)
                end(
                    dataTask, .httpError,
                    "\(shownURL) answered \(http.statusCode)\(reason.isEmpty ? "" : " " + reason): leave out -f to see its body"
                )
                return completionHandler(.cancel)
            }
        }
        attempt(dataTask) { () throws(WriteError) in try output.begin(response) }
        refuseBinary(dataTask)
        completionHandler(stop.value == nil ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard stop.value == nil else { return }
        received += Int64(data.count)
        responseBody?.add(data)
        attempt(dataTask) { () throws(WriteError) in try output.add(data) }
        refuseBinary(dataTask)
        progress?.update(received: received, expected: response?.expectedContentLength ?? -1)
    }

    // MARK: Ending

    private var shownURL: String {
        TextSanitizer.clean(SecretFields.withoutUserInformation(builder.request.url?.absoluteString ?? command.url))
    }

    private func end(_ task: URLSessionTask, _ code: ExitCode, _ message: String) {
        stop.set(TransferFailure(code, message))
        task.cancel()
    }

    private func attempt(_ task: URLSessionTask, _ write: () throws(WriteError) -> Void) {
        do throws(WriteError) {
            try write()
        } catch {
            stop.set(TransferFailure(error))
            task.cancel()
        }
    }

    private func refuseBinary(_ task: URLSessionTask) {
        // A HEAD response describes a body that does not come.
        guard output.isRefused, command.method != "HEAD", stop.value == nil else { return }
        let type = response?.mimeType.map { " (\(TextSanitizer.clean($0)))" } ?? ""
        end(
            task, .writeError,
            "the body is binary\(type) and would upset your terminal: use -o FILE, or -o - to print it all the same")
    }

    private func conclude() -> ExitCode {
        let duration = Double(DispatchTime.now().uptimeNanoseconds - started) / 1e9
        let failure = failure(duration)
        narrator.metrics(metrics)
        if command.showsMetrics { printWaterfall() }
        let archiveFailure = writeArchive(failure)
        for failure in [failure, archiveFailure].compactMap({ $0 }) where !failure.message.isEmpty {
            if !command.isSilent || command.showsErrors { StandardError.write("urlsession: \(failure.message)\n") }
        }
        return failure?.exitCode ?? archiveFailure?.exitCode ?? .success
    }

    private func failure(_ duration: Double) -> TransferFailure? {
        if let reason = stop.value { return reason }
        guard let loadError else { return nil }
        let failing = (loadError as? URLError)?.failingURL ?? builder.request.url
        var context = TransferFailure.Context(url: failing?.absoluteString ?? command.url, method: command.method)
        context.hasResponse = response != nil
        context.received = received
        context.expected = response?.expectedContentLength ?? -1
        context.timeout = command.timeout
        context.idleTimeout = command.idleTimeout
        context.elapsed = duration
        return TransferFailure(loadError, context)
    }

    private func printWaterfall() {
        guard let metrics else { return }
        let style = TextStyle(command.color, isTerminal: terminal.errorIsTerminal, terminal: terminal)
        let waterfall = Waterfall(style: style, isUTF8: terminal.isUTF8, columns: terminal.columns)
        let lines = waterfall.lines(TransactionTimeline.all(in: metrics), duration: metrics.taskInterval.duration)
        StandardError.write(lines.map { $0 + "\n" }.joined())
    }

    private func writeArchive(_ failure: TransferFailure?) -> TransferFailure? {
        guard let path = command.harPath else { return nil }
        var records = metrics.map(HARRecord.all) ?? []
        if !records.isEmpty {
            records[records.count - 1].responseBody = response == nil ? nil : responseBody
            records[records.count - 1].failure = failure?.message
            for index in records.indices where records[index].timeline.method == command.method {
                records[index].requestBody = requestBody
            }
        }
        let entries = records.map { $0.entry(showingSecrets: command.harIncludesSecrets) }
        do {
            let data = try HARDocument(creatorVersion: Command.version, entries: entries).encoded()
            let file = try OutputDescriptor.create(path: path)
            try file.write(Array(data))
            try file.finish()
            return nil
        } catch let error as WriteError {
            return TransferFailure(error)
        } catch {
            return TransferFailure(.writeError, "cannot write '\(path)': \(error.localizedDescription)")
        }
    }
}

/// The first reason to stop wins. Set from the delegate queue and from the signal handler's queue, hence the lock;
/// unchecked for that reason.
private final class StopReason: @unchecked Sendable {
    private let lock = NSLock()
    private var reason: TransferFailure?

    var value: TransferFailure? { lock.withLock { reason } }

    func set(_ new: TransferFailure) {
        lock.withLock { if reason == nil { reason = new } }
    }
}
