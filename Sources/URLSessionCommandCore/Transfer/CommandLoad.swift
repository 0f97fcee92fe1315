import Dispatch
import Foundation
import LoadingEvents
internal import LoadingSemantics
import URLLoading

/// The base class of all commands that load: runs one task in its own session and keeps its result. Subclasses handle
/// the body.
///
/// Unchecked: mutable state is confined to the session's serial delegate queue, and the caller of `load` reads it after
/// the task has ended. `stop` is used from other threads too and has a lock.
class CommandLoad: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
    final let command: CommandLineRequest
    final let builder: RequestBuilder
    final let terminal: Terminal
    final let verboseOutput: VerboseOutput
    final let heads: HeadRecorder
    final let progress: (any ProgressDisplay)?
    /// Why the client cancelled the load. Takes precedence over the error of the cancellation.
    final let stop = StopReason()
    private let challenges: ChallengeResponder
    private let connectDeadline: ConnectDeadline?
    private let started = DispatchTime.now().uptimeNanoseconds
    private let finished = DispatchSemaphore(value: 0)

    final var received: Int64 = 0
    private var redirects = 0
    private(set) final var metrics: URLSessionTaskMetrics?
    private(set) final var loadError: (any Error)?

    /// - Parameters:
    ///   - drawsProgress: Whether a progress bar may be shown, if the terminal and the switches allow one.
    ///   - retaining: Which response heads are kept for the subclass.
    init(
        _ command: CommandLineRequest, _ builder: RequestBuilder, _ challenges: ChallengeResponder, terminal: Terminal,
        drawsProgress: Bool, retaining: HeadRecorder.Retention, board: ProgressBoard? = nil
    ) {
        self.command = command
        self.builder = builder
        self.challenges = challenges
        self.terminal = terminal
        verboseOutput = VerboseOutput(command, terminal: terminal)
        heads = HeadRecorder(
            verboseOutput, retaining: retaining, keepsTunnels: command.harPath != nil || command.writeOut != nil)
        let limit = Self.connects(to: builder.request.url) ? command.connectTimeout : nil
        connectDeadline = limit.map { ConnectDeadline($0) }
        let isShown = terminal.showsProgress && drawsProgress && Self.allowsProgress(command)
        if let board, isShown {
            progress = board.row(name: Self.shortName(command))
        } else {
            progress = isShown ? ProgressBar(terminal: terminal) : nil
        }
    }

    /// Whether the switches allow a progress bar.
    static func allowsProgress(_ command: CommandLineRequest) -> Bool {
        !command.isSilent && command.showsProgress && command.verbosity == 0 && !command.showsTrace
    }

    static func connects(to url: URL?) -> Bool { !["file", "data"].contains(url?.scheme?.lowercased()) }

    /// The name of the file, or of the host.
    private static func shortName(_ command: CommandLineRequest) -> String {
        let path = command.destination.path ?? command.url.split(separator: "?").first.map(String.init) ?? command.url
        return TextSanitizer.clean(path.split(separator: "/").last.map(String.init) ?? path)
    }

    /// Runs the task, and returns after the last delegate callback.
    ///
    /// - Parameter shared: The session of several loads; nil for one of its own.
    final func load(
        _ configuration: URLSessionConfiguration, in shared: SharedSession? = nil,
        _ makeTask: (URLSession) -> URLSessionTask
    ) {
        let observer: @Sendable (MessageHead) -> Void = { [heads, connectDeadline] head in
            heads.observe(head)
            connectDeadline?.observe(head)
        }
        var events: (@Sendable (LoadEvent) -> Void)?
        // Also for a load without a deadline, because a later one of the same session may have one.
        if command.connectTimeout != nil { events = { [connectDeadline] event in connectDeadline?.observe(event) } }
        let trace = command.showsTrace ? DelegateTrace(self) : nil
        let session: URLSession
        if let shared {
            session = shared.session(configuration, observer: observer, events: events)
        } else {
            configuration.headObserver = observer
            if let events {
                let next = configuration.eventObserver
                configuration.eventObserver = { event in
                    events(event)
                    next?(event)
                }
            }
            session = URLSession(configuration: configuration, delegate: trace ?? self, delegateQueue: nil)
        }
        let task = makeTask(session)
        if shared != nil { task.delegate = trace ?? self }
        let interruption = Interruption { [self] code in
            stop.set(TransferFailure(code, ""))
            progress?.end()
            interrupt(task)
        }
        if command.isInsecure, !command.isSilent {
            StandardError.write("urlsession: warning: -k accepts any certificate; the server is not authenticated\n")
        }
        // Streams have no request.
        if let request = task.currentRequest { verboseOutput.request(request) }
        progress?.begin()
        armConnectDeadline(task)
        task.resume()
        began(task)
        if shared == nil { session.finishTasksAndInvalidate() }
        finished.wait()
        connectDeadline?.disarm()
        settle()
        if shared == nil { trace?.waitForEnd() }
        progress?.end()
        interruption.end()
    }

    private func armConnectDeadline(_ task: URLSessionTask) {
        guard let connectDeadline, let limit = command.connectTimeout else { return }
        connectDeadline.arm { [self, weak task] in
            let host = TransferFailure.Context(url: task?.currentRequest?.url?.absoluteString ?? command.url).authority
            stop.set(
                TransferFailure(
                    .timedOut,
                    "no connection to \(TextSanitizer.clean(host)) within \(TransferFailure.plain(limit)) s: "
                        + "allow more time with --connect-timeout"))
            task?.cancel()
        }
    }

    // MARK: For subclasses

    /// Called after the task was resumed.
    func began(_ task: URLSessionTask) {}

    /// Waits, after the last callback of the task, for what the subclass still does on other threads.
    func settle() {}

    /// Whether to follow a redirect. If an override sets `stop`, the load is cancelled instead.
    func follows(_ redirect: HTTPURLResponse, _ task: URLSessionTask) -> Bool { command.followsRedirects }

    /// Called for SIGINT and SIGTERM.
    func interrupt(_ task: URLSessionTask) { task.cancel() }

    /// A new stream of the request body, or nil if it cannot be read again.
    func newBodyStream() -> InputStream? { nil }

    /// Called with the number of body bytes sent so far.
    func sent(_ total: Int64, of expected: Int64) {}

    /// Called last.
    func ended(_ task: URLSessionTask) {}

    // MARK: URLSessionDelegate

    final func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let (disposition, credential, failure) = challenges.answer(to: challenge, verboseOutput: verboseOutput)
        if let failure { stop.set(failure) }
        completionHandler(disposition, credential)
    }

    // MARK: URLSessionTaskDelegate

    final func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let (disposition, credential, failure) = challenges.answer(to: challenge, verboseOutput: verboseOutput)
        if let failure { stop.set(failure) }
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
            // The completion handler must be called before the task ends.
            completionHandler(nil)
            return task.cancel()
        }
        verboseOutput.redirect()
        armConnectDeadline(task)
        completionHandler(authorized(request))
    }

    /// URLSession removes `Authorization` at each redirect. As in curl, the server of the command line gets that of
    /// `-H` and `--oauth2-bearer` again, and no other one does.
    private func authorized(_ request: URLRequest) -> URLRequest {
        guard let value = builder.request.value(forHTTPHeaderField: "Authorization"),
            let first = builder.request.url, let next = request.url, let from = try? HTTPURL(first.absoluteString),
            let to = try? HTTPURL(next.absoluteString), from.isSameOrigin(as: to)
        else { return request }
        var request = request
        request.setValue(value, forHTTPHeaderField: "Authorization")
        return request
    }

    // Optional delegate methods are implemented here because those implemented only by a subclass are not called.

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
        connectDeadline?.disarm()
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

    /// The failure of the load, or nil if it succeeded.
    /// - Parameter expected: The length of the body in bytes; -1 if unknown.
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
        context.elapsed = elapsed
        context.socketPath = command.network.destinations.socketPath
        return TransferFailure(loadError, context)
    }

    /// Seconds since the start.
    final var elapsed: Double { Double(DispatchTime.now().uptimeNanoseconds - started) / 1e9 }

    /// The URL without user information.
    final var plainURL: String {
        SecretFields.withoutUserInformation(builder.request.url?.absoluteString ?? command.url)
    }

    final var shownURL: String { TextSanitizer.clean(SecretText.hiding(in: plainURL, as: .address)) }
}

/// Why the client cancelled a load. Takes precedence over the error of the cancellation. The first reason is kept.
///
/// Unchecked: `lock` guards it. It is set on the delegate queue and on the signal queue.
final class StopReason: @unchecked Sendable {
    private let lock = NSLock()
    private var reason: TransferFailure?

    var value: TransferFailure? { lock.withLock { reason } }

    func set(_ new: TransferFailure) {
        lock.withLock { if reason == nil { reason = new } }
    }
}
