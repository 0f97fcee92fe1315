import Dispatch
import Foundation
import LoadingEvents
import URLLoading

/// Runs one load and writes each piece of the body as it arrives.
final class Transfer: CommandLoad, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable: as the superclass.
    private let output: TransferOutput
    private let shared: LoadSeries.Shared
    private var policy: RetryPolicy
    /// When the first try began, on the clock of `DispatchTime`, in nanoseconds.
    private let firstStart: UInt64
    private let limiter: RateLimiter?

    private var response: URLResponse?
    private var requestBody: HARRecord.Body?
    private var responseBody: HARRecord.Body?
    /// The last response head, and the size of all of them as text.
    private var lastHead: MessageHead?
    private var headBytes = 0
    /// The time until the next try, if the load was ended for it.
    private var retryDelay: Double?
    /// The failure of a response whose body is written nevertheless.
    private var errorStatus: TransferFailure?
    private var result: TransferFailure?

    init(
        _ command: CommandLineRequest, terminal: Terminal, shared: LoadSeries.Shared, retrying policy: RetryPolicy,
        since firstStart: UInt64
    ) throws(UsageError) {
        let builder = try RequestBuilder(command)
        let challenges = try ChallengeResponder(command, url: builder.request.url)
        output = TransferOutput(command, terminal: terminal)
        self.shared = shared
        self.policy = policy
        self.firstStart = firstStart
        limiter = command.rateLimit.map { RateLimiter(bytesPerSecond: $0, timeout: command.timeout) }
        // While a body is sent nothing else is printed, so a progress bar can be shown.
        let hasRoom = !output.isTerminal || builder.body != .none
        let keepsAll = command.includesHead || command.headPath != nil || command.writeOut != nil
        super.init(
            command, builder, challenges, terminal: terminal, drawsProgress: hasRoom,
            retaining: keepsAll ? .all : .last, board: shared.board)
        if command.harPath != nil {
            responseBody = HARRecord.Body()
            switch builder.body {
            case .data(let data): requestBody = HARRecord.Body(data)
            case .file, .standardInput, .stream, .composed, .none: break
            }
        }
    }

    /// Runs the load, and returns after the body has been written.
    func load() {
        load(RequestBuilder.configuration(command, cookies: shared.cookies), in: shared.session, makeTask)
        takeHeads()
        result = failure(hasResponse: response != nil, expected: response?.expectedContentLength ?? -1) ?? errorStatus
    }

    var hasResponse: Bool { response != nil }

    /// The time until the next try in seconds, and what is left for it. Nil if there is none.
    func nextTry() -> (delay: Double, policy: RetryPolicy)? {
        if retryDelay == nil, let result, result.exitCode != .success {
            retryDelay = delay(after: .failure(result.exitCode))
        }
        guard let retryDelay else { return nil }
        output.discard()
        return (retryDelay, policy)
    }

    private func delay(after cause: RetryPolicy.Cause) -> Double? {
        guard builder.isRepeatable, !output.isFinal else { return nil }
        let elapsed = Double(DispatchTime.now().uptimeNanoseconds - firstStart) / 1e9
        return policy.delay(after: cause, elapsed: elapsed)
    }

    /// The reason of the failure, without advice.
    var reason: String {
        let message = result?.message ?? ""
        return message.firstRange(of: ": ").map { String(message[..<$0.lowerBound]) } ?? message
    }

    func printWarning(_ text: String) {
        if !command.isSilent { printMessage(text) }
    }

    private func printMessage(_ text: String) {
        let line = "urlsession: \(text)\n"
        if let board = shared.board { board.interrupt { StandardError.write(line) } } else { StandardError.write(line) }
    }

    /// Reports the end of the load, once.
    func conclude() -> ExitCode {
        var report = TransferReport(command: command, terminal: terminal, verboseOutput: verboseOutput)
        report.metrics = metrics
        report.failure = result
        report.tunnelExchanges = heads.tunnelExchanges
        report.requestBody = requestBody
        report.responseBody = response == nil ? nil : responseBody
        report.board = shared.board
        let code = report.conclude()
        return writeOut() ?? code
    }

    /// Prints the text of `-w`. The exit code if that fails.
    private func writeOut() -> ExitCode? {
        guard let format = command.writeOut else { return nil }
        var values = WriteOut(command: command)
        values.metrics = metrics
        values.response = response
        values.head = lastHead
        values.headBytes = headBytes
        values.tunnelExchanges = heads.tunnelExchanges
        values.failure = result
        values.fileName = output.writtenPath
        do throws(FileError) {
            for (text, isError) in values.output(format) {
                try (isError ? OutputDescriptor.standardError : .standardOutput).write(shown: text)
            }
            return nil
        } catch {
            let failure = TransferFailure(error)
            if !failure.message.isEmpty, !command.isSilent || command.showsErrors { printMessage(failure.message) }
            return failure.exitCode
        }
    }

    private func makeTask(in session: URLSession) -> URLSessionTask {
        if let limiter, builder.body != .none {
            return session.dataTask(with: builder.streamedRequest(limitedBy: limiter))
        }
        guard command.isUpload || command.isPut, case .file(let file) = builder.body else {
            return session.dataTask(with: builder.streamedRequest)
        }
        return session.uploadTask(with: builder.request, fromFile: file)
    }

    /// Takes the heads that have arrived, for all that wants them.
    @discardableResult private func takeHeads() -> [MessageHead] {
        let new = heads.takeResponses()
        if let last = new.last { lastHead = last }
        if command.writeOut != nil { headBytes += new.reduce(0) { $0 + $1.text.utf8.count } }
        do throws(FileError) { try shared.dump?.write(new) } catch { stop.set(TransferFailure(error)) }
        return new
    }

    // MARK: CommandLoad

    override func follows(_ redirect: HTTPURLResponse, _ task: URLSessionTask) -> Bool {
        guard command.followsRedirects else { return false }
        attempt(task) { () throws(FileError) in
            try output.redirect(redirect, takeHeads(), mayKeepFile: builder.isConditional)
        }
        return true
    }

    override func ended(_ task: URLSessionTask) {
        if stop.value == nil { attempt(task) { () throws(FileError) in try output.finish() } }
    }

    /// A file can be sent again after a redirect or a challenge. Standard input and pipes cannot.
    override func newBodyStream() -> InputStream? {
        guard let limiter else { return builder.newBodyStream }
        return builder.isRepeatable ? builder.streamedRequest(limitedBy: limiter).httpBodyStream : nil
    }

    override func interrupt(_ task: URLSessionTask) {
        limiter?.end()
        super.interrupt(task)
    }

    override func sent(_ total: Int64, of expected: Int64) {
        progress?.update(received: total, expected: expected)
    }

    // MARK: URLSessionDataDelegate

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        self.response = response
        received = 0
        if output.isTerminal { progress?.end() } else if builder.body != .none { progress?.begin(at: 0) }
        let newHeads = takeHeads()
        if let http = response as? HTTPURLResponse, ends(dataTask, http) { return completionHandler(.cancel) }
        if let limit = command.maximumFileSize, response.expectedContentLength > Int64(limit) {
            let size = Quantity.bytes(response.expectedContentLength)
            end(dataTask, .bodyNotAllowed, "the body of \(shownURL) has \(size), more than --max-filesize allows")
            return completionHandler(.cancel)
        }
        // The file is what the condition is about, and it has no other body.
        let isUnchanged = builder.isConditional && (response as? HTTPURLResponse)?.statusCode == 304
        attempt(dataTask) { () throws(FileError) in try output.begin(response, newHeads, keepsFile: isUnchanged) }
        if !isUnchanged { refuseBinary(dataTask) }
        completionHandler(stop.value == nil ? .allow : .cancel)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard stop.value == nil else { return }
        guard let limiter else { return take(data, dataTask) }
        // In small pieces, because other callbacks wait for this one.
        var rest = data[...]
        while !rest.isEmpty, stop.value == nil {
            let piece = rest.prefix(limiter.pieceSize)
            rest = rest.dropFirst(piece.count)
            take(piece, dataTask)
            if !limiter.wait(for: piece.count) {
                return end(
                    dataTask, .timedOut,
                    "the time for \(shownURL) is over: allow more with -m, or a higher rate with --limit-rate")
            }
        }
    }

    private func take(_ data: Data, _ dataTask: URLSessionDataTask) {
        received += Int64(data.count)
        if let limit = command.maximumFileSize, received > Int64(limit) {
            let size = Quantity.bytes(Int64(limit))
            return end(dataTask, .bodyNotAllowed, "the body of \(shownURL) is larger than \(size) (--max-filesize)")
        }
        responseBody?.add(data)
        attempt(dataTask) { () throws(FileError) in try output.add(data) }
        refuseBinary(dataTask)
        progress?.update(received: received, expected: response?.expectedContentLength ?? -1)
    }

    /// Whether the load ends with this head. The body is then not written.
    private func ends(_ task: URLSessionTask, _ response: HTTPURLResponse) -> Bool {
        let status = response.statusCode
        let retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap {
            RetryAfter.seconds($0, at: Date())
        }
        let cause = RetryPolicy.Cause.status(status, retryAfter: retryAfter)
        if stop.value == nil, let delay = delay(after: cause) {
            retryDelay = delay
            end(task, .httpError, "\(shown(response)): it failed each time")
            return true
        }
        if command.failsOnHTTPError, status >= 400 {
            if command.keepsErrorBody {
                errorStatus = TransferFailure(.httpError, shown(response))
                return false
            }
            end(task, .httpError, "\(shown(response)): leave out -f to see its body")
            return true
        }
        if status == 200, let condition = builder.timeCondition,
            !condition.isMet(lastModified: response.value(forHTTPHeaderField: "Last-Modified"))
        {
            end(task, .success, "")
            return true
        }
        return false
    }

    // MARK: Ending

    private func attempt(_ task: URLSessionTask, _ write: () throws(FileError) -> Void) {
        do throws(FileError) {
            try write()
        } catch {
            stop.set(TransferFailure(error))
            task.cancel()
        }
    }

    private func refuseBinary(_ task: URLSessionTask) {
        // A HEAD response has no body, whatever its Content-Type.
        guard output.isRefused, command.method != "HEAD", stop.value == nil else { return }
        let type = response?.mimeType.map { " (\(TextSanitizer.clean($0)))" } ?? ""
        end(
            task, .writeError,
            "the body is binary\(type): use -o FILE, or -o - to print it anyway")
    }
}
