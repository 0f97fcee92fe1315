import Dispatch
import Foundation
import URLLoading

/// What every command that loads has in common: one task in a session of its own, from its start to what it came to.
/// Subclasses say what becomes of the body.
///
/// Unchecked: everything that changes belongs to the session's delegate queue, which is serial, and is read by the caller
/// of `load` after the task's end; `stop` alone comes from elsewhere and is behind a lock.
class CommandLoad: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
    final let command: CommandLineRequest
    final let builder: RequestBuilder
    final let terminal: Terminal
    final let narrator: Narrator
    final let heads: ObservedHeads
    final let progress: ProgressBar?
    /// Why this side ended the load; stronger than the error that the cancellation brings.
    final let stop = StopReason()
    private let challenges: ChallengeAnswers
    private let started = DispatchTime.now().uptimeNanoseconds
    private let finished = DispatchSemaphore(value: 0)

    final var received: Int64 = 0
    private var redirects = 0
    private(set) final var metrics: URLSessionTaskMetrics?
    private(set) final var loadError: (any Error)?

    /// - Parameters:
    ///   - drawsProgress: Whether there is a place for a bar, if the terminal and the switches allow one.
    ///   - keeping: Which heads of responses the subclass takes.
    init(
        _ command: CommandLineRequest, _ builder: RequestBuilder, _ challenges: ChallengeAnswers, terminal: Terminal,
        drawsProgress: Bool, keeping: ObservedHeads.Keeping
    ) {
        self.command = command
        self.builder = builder
        self.challenges = challenges
        self.terminal = terminal
        narrator = Narrator(command, terminal: terminal)
        heads = ObservedHeads(narrator, keeping: keeping, keepsTunnels: command.harPath != nil)
        let isQuiet = command.isSilent || !command.showsProgress || command.verbosity > 0 || command.showsTrace
        progress = terminal.errorIsTerminal && drawsProgress && !isQuiet ? ProgressBar(terminal: terminal) : nil
    }

    /// Loads, and returns when all calls have been made.
    final func load(_ configuration: URLSessionConfiguration, _ makeTask: (URLSession) -> URLSessionTask) {
        configuration.headObserver = { [heads] in heads.observe($0) }
        let trace = command.showsTrace ? DelegateTrace(self) : nil
        let session = URLSession(configuration: configuration, delegate: trace ?? self, delegateQueue: nil)
        let task = makeTask(session)
        let interruption = Interruption { [self] code in
            stop.set(TransferFailure(code, ""))
            progress?.end()
            interrupt(task)
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
    }

    // MARK: For subclasses

    /// Whether the load goes where a redirect leads. Whoever sets `stop` ends it instead.
    func follows(_ redirect: HTTPURLResponse, _ task: URLSessionTask) -> Bool { command.followsRedirects }

    /// Somebody pressed Ctrl-C.
    func interrupt(_ task: URLSessionTask) { task.cancel() }

    /// The body once more, for who needs it again; nil if it is gone.
    func newBodyStream() -> InputStream? { nil }

    /// So much of the body has been sent.
    func sent(_ total: Int64, of expected: Int64) {}

    /// The last call.
    func ended(_ task: URLSessionTask) {}

    // MARK: URLSessionDelegate

    final func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let (disposition, credential, failure) = challenges.answer(to: challenge, narrator: narrator)
        if let failure { stop.set(failure) }
        completionHandler(disposition, credential)
    }

    // MARK: URLSessionTaskDelegate

    final func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let (disposition, credential, _) = challenges.answer(to: challenge, narrator: narrator)
        completionHandler(disposition, credential)
    }

    final func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard follows(response, task) else { return completionHandler(nil) }
        redirects += 1
        if let limit = command.maximumRedirects, redirects > limit {
            let advice = "raise --max-redirects, or look with -v"
            stop.set(
                TransferFailure(
                    .tooManyRedirects, "more than \(Quantity.count(limit, "redirect")) from \(shownURL): \(advice)"))
        }
        guard stop.value == nil else {
            // The question is answered before the task ends.
            completionHandler(nil)
            return task.cancel()
        }
        narrator.redirect()
        completionHandler(request)
    }

    // Those that only a subclass had would not be called.

    final func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        completionHandler(newBodyStream())
    }

    final func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        sent(totalBytesSent, of: totalBytesExpectedToSend)
    }

    final func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        self.metrics = metrics
    }

    final func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        loadError = error
        ended(task)
        finished.signal()
    }

    // MARK: Ending

    final func end(_ task: URLSessionTask, _ code: ExitCode, _ message: String) {
        stop.set(TransferFailure(code, message))
        task.cancel()
    }

    /// `… answered 404 Not Found`
    final func shown(_ response: HTTPURLResponse) -> String {
        "\(shownURL) answered \(StatusText.described(response.statusCode))"
    }

    /// What went wrong, if anything did.
    /// - Parameter expected: Of the body, in bytes; -1 where nobody said.
    final func failure(hasResponse: Bool, expected: Int64) -> TransferFailure? {
        if let reason = stop.value { return reason }
        guard let loadError else { return nil }
        let failing = (loadError as? URLError)?.failingURL ?? builder.request.url
        var context = TransferFailure.Context(url: failing?.absoluteString ?? command.url, method: command.method)
        context.hasResponse = hasResponse
        context.received = received
        context.expected = expected
        context.timeout = command.timeout
        context.version = command.version
        context.idleTimeout = command.idleTimeout
        context.elapsed = Double(DispatchTime.now().uptimeNanoseconds - started) / 1e9
        return TransferFailure(loadError, context)
    }

    /// Without the user's name and password.
    final var plainURL: String {
        SecretFields.withoutUserInformation(builder.request.url?.absoluteString ?? command.url)
    }

    final var shownURL: String { TextSanitizer.clean(SecretText.hiding(in: plainURL, as: .address)) }
}
