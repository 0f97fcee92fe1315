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
    private let challenges: ChallengeAnswers
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
        challenges = try ChallengeAnswers(command, url: builder.request.url)
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
        let trace = command.showsTrace ? DelegateTrace(self) : nil
        let session = URLSession(
            configuration: RequestBuilder.configuration(command), delegate: trace ?? self, delegateQueue: nil)
        let task = makeTask(in: session)
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
        trace?.waitForEnd()
        progress?.end()
        interruption.end()
        return conclude()
    }

    private func makeTask(in session: URLSession) -> URLSessionTask {
        guard command.isUpload, case .file(let file) = builder.body else {
            return session.dataTask(with: builder.streamedRequest)
        }
        return session.uploadTask(with: builder.request, fromFile: file)
    }

    // MARK: URLSessionDelegate

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let (disposition, credential, failure) = challenges.answer(to: challenge)
        if let failure { stop.set(failure) }
        completionHandler(disposition, credential)
    }

    // MARK: URLSessionTaskDelegate

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let (disposition, credential, _) = challenges.answer(to: challenge)
        completionHandler(disposition, credential)
    }

    /// A file of `--data` goes out again after a redirect or a challenge; what came from standard input is gone.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        if case .file(let file) = builder.body {
            completionHandler(InputStream(url: file))
        } else {
            completionHandler(nil)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        guard command.isUpload else { return }
        progress?.update(received: totalBytesSent, expected: totalBytesExpectedToSend)
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
        var report = TransferReport(command: command, terminal: terminal, narrator: narrator)
        report.metrics = metrics
        report.failure = failure(Double(DispatchTime.now().uptimeNanoseconds - started) / 1e9)
        report.requestBody = requestBody
        report.responseBody = response == nil ? nil : responseBody
        return report.conclude()
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
}
