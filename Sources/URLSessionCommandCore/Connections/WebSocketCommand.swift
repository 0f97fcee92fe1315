import Foundation
import LoadingEvents
import URLLoading

/// `urlsession ws`: lines of standard input become messages, and messages become lines of standard output.
final class WebSocketCommand: CommandLoad, URLSessionWebSocketDelegate, @unchecked Sendable {
    // Sendable: as the superclass. `output`, `closing` and `isOpen` are confined to the delegate queue until the end.

    /// The longest line, in bytes.
    private static let longestLine = 16 << 20
    /// Seconds without a pong or a message, after the end of standard input, before the connection is closed.
    private static let pongLimit = 5.0
    /// The codes of an orderly end: normal closure, going away, and no code.
    private static let orderlyCodes: Set<Int> = [1000, 1001, 1005]

    private let options: WebSocketOptions
    private let input = StandardInput()
    private let waits = BlockingCalls("urlsession.wait")
    private let activity = ConnectionActivity()
    private let outputEnded = DispatchSemaphore(value: 0)
    private let ownClose = OwnClose()

    private var isOpen = false
    private var closing: (code: Int, reason: String)?
    private var response: HTTPURLResponse?

    init(_ command: CommandLineRequest, _ options: WebSocketOptions, terminal: Terminal) throws(UsageError) {
        self.options = options
        let builder = try RequestBuilder(command)
        let challenges = try ChallengeResponder(command, url: builder.request.url)
        super.init(command, builder, challenges, terminal: terminal, drawsProgress: false, retaining: .none)
    }

    /// Returns when the connection has ended and all messages are written.
    func run() -> ExitCode {
        let configuration = RequestBuilder.configuration(command)
        configuration.enablesWebSocketCompression = options.isCompressed
        if command.verbosity > 0 {
            let picture = PrintedPicture(WebSocketPicture(showsSecrets: command.verbosity > 1))
            configuration.eventObserver = { picture.add($0) }
        }
        load(configuration, makeTask)
        var report = TransferReport(command: command, terminal: terminal, verboseOutput: verboseOutput)
        report.metrics = metrics
        report.failure = outcome()
        report.tunnelExchanges = heads.tunnelExchanges
        return report.conclude()
    }

    private func makeTask(in session: URLSession) -> URLSessionTask {
        var request = builder.request
        if !options.protocols.isEmpty {
            request.setValue(options.protocols.joined(separator: ", "), forHTTPHeaderField: "Sec-WebSocket-Protocol")
        }
        let task = session.webSocketTask(with: request)
        if let size = options.maximumMessageSize { task.maximumMessageSize = size }
        task.pingInterval = options.pingInterval
        return task
    }

    // MARK: CommandLoad

    override func interrupt(_ task: URLSessionTask) {
        (task as? URLSessionWebSocketTask)?.cancel(with: .goingAway, reason: nil)
    }

    override func ended(_ task: URLSessionTask) { response = task.response as? HTTPURLResponse }

    override func settle() {
        if isOpen { outputEnded.wait() }
    }

    // MARK: URLSessionWebSocketDelegate

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        let output: MessageOutput
        do throws(FileError) {
            output = try MessageOutput(command, terminal: terminal)
        } catch {
            return end(webSocketTask, TransferFailure(error))
        }
        isOpen = true
        Task { await receive(webSocketTask, output) }
        Task { await send(webSocketTask) }
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        let reason = String(decoding: reason ?? Data(), as: UTF8.self)
        closing = (closeCode.rawValue, reason)
        if command.verbosity > 0, !reason.isEmpty { StandardError.write(WebSocketPicture.reason(reason) + "\n") }
    }

    // MARK: Receiving

    private func receive(_ task: URLSessionWebSocketTask, _ output: MessageOutput) async {
        do {
            for try await message in task.messages {
                try await activity.whileWriting { () throws(FileError) in try await output.write(message) }
            }
            try output.finish()
        } catch let error as FileError {
            end(task, TransferFailure(error))
        } catch {
            // The error of the task, which the delegate gets.
        }
        outputEnded.signal()
    }

    // MARK: Sending

    private func send(_ task: URLSessionWebSocketTask) async {
        do {
            switch (options.sendsWhole, options.isBinary) {
            case (true, let isBinary): try await task.send(contentsOf: pieces(), asText: !isBinary)
            case (false, true): for try await piece in pieces() { try await task.send(.data(piece)) }
            case (false, false): try await sendLines(task)
            }
            await finish(task)
        } catch let failure as TransferFailure {
            end(task, failure)
        } catch let error as FileError {
            end(task, TransferFailure(.readError, "cannot read \(error.path): \(error.reason)"))
        } catch {
            // The error of the task, which the delegate gets.
        }
    }

    /// The pieces of standard input. Each is read when it is asked for.
    private func pieces() -> AsyncThrowingStream<Data, any Error> {
        AsyncThrowingStream { [input] in
            let piece = try await input.read()
            return piece.isEmpty ? nil : Data(piece)
        }
    }

    private func sendLines(_ task: URLSessionWebSocketTask) async throws {
        var splitter = LineSplitter()
        var number = 0
        func send(_ line: [UInt8]) async throws {
            number += 1
            guard let text = String(validating: line, as: UTF8.self) else {
                throw TransferFailure(
                    .readError, "line \(number) of standard input is not UTF-8: send bytes with --binary")
            }
            try await task.send(.string(text))
        }
        while true {
            let piece = try await input.read()
            if piece.isEmpty { break }
            splitter.add(piece)
            while let line = splitter.next() { try await send(line) }
            guard splitter.pendingCount <= Self.longestLine else {
                throw TransferFailure(
                    .readError,
                    "line \(number + 1) of standard input is longer than \(Quantity.bytes(Int64(Self.longestLine))): "
                        + "send it with --whole, or bytes with --binary")
            }
        }
        if let last = splitter.finish() { try await send(last) }
    }

    /// Closes after the end of standard input. What the server sends after the close frame is lost, so its answers are
    /// waited for: a pong comes after what the server has sent before it read the ping.
    private func finish(_ task: URLSessionWebSocketTask) async {
        activity.note()
        if let wait = options.wait {
            await waits.run { [activity] in
                while case let rest = wait - activity.silence, rest > 0 { Thread.sleep(forTimeInterval: rest) }
            }
        } else {
            let pong = DispatchSemaphore(value: 0)
            task.sendPing { _ in pong.signal() }
            await waits.run { [activity] in
                while case let rest = Self.pongLimit - activity.silence, rest > 0 {
                    if pong.wait(timeout: .now() + rest) == .success { break }
                }
            }
        }
        ownClose.note()
        task.cancel(with: .normalClosure, reason: nil)
    }

    // MARK: Ending

    private func end(_ task: URLSessionWebSocketTask, _ failure: TransferFailure) {
        stop.set(failure)
        task.cancel()
    }

    /// The failure of the command; nil for an orderly end, which is reported if the server began it.
    private func outcome() -> TransferFailure? {
        if let reason = stop.value { return reason }
        guard loadError == nil, let closing else { return described(loadError) }
        let host = TransferFailure.Context(url: plainURL).authority
        let words =
            "\(host) closed the WebSocket with \(CloseCodeText.described(closing.code))"
            + (closing.reason.isEmpty ? "" : ": " + TextSanitizer.clean(closing.reason))
        guard Self.orderlyCodes.contains(closing.code) else { return TransferFailure(.webSocketClosed, words) }
        if !ownClose.wasFirst, !command.isSilent { StandardError.write("urlsession: \(words)\n") }
        return nil
    }

    private func described(_ error: (any Error)?) -> TransferFailure? {
        guard let error else { return nil }
        let host = TransferFailure.Context(url: plainURL).authority
        let number = (error as? URLError)?.errorCode ?? (error as NSError).code
        let cause = FailureReasons.parenthesis(error)
        guard isOpen else {
            guard let response, URLError.Code(rawValue: number) == .badServerResponse else {
                return failure(hasResponse: false, expected: -1)
            }
            return refused(response)
        }
        if (error as NSError).domain == NSPOSIXErrorDomain {
            switch Int32(number) {
            case EMSGSIZE:
                let size = Quantity.bytes(Int64(options.maximumMessageSize ?? 1 << 20))
                return TransferFailure(
                    .messageTooLarge, "a message of \(host) is larger than \(size): allow more with --max-message")
            case EPROTO:
                return TransferFailure(
                    .badServerResponse, "\(host) violated the WebSocket protocol: -v shows what went before")
            default: break
            }
        }
        switch URLError.Code(rawValue: number) {
        case .networkConnectionLost:
            return TransferFailure(
                .connectionLost, "the connection to \(host) was lost without a close frame\(cause): try again")
        case .timedOut where ownClose.wasFirst:
            return TransferFailure(.timedOut, "\(host) did not answer the close frame")
        case .timedOut where command.timeout.map({ elapsed < $0 * 0.95 }) ?? true:
            return TransferFailure(
                .timedOut, "\(host) did not answer a ping: the connection is lost, or allow more time with --ping")
        default: return failure(hasResponse: true, expected: -1)
        }
    }

    /// The response to the opening handshake is not what RFC 6455 requires.
    private func refused(_ response: HTTPURLResponse) -> TransferFailure {
        let status = response.statusCode
        let advice =
            switch status {
            case 101: "is this a WebSocket server, and did it choose one of the --protocol names?"
            case 300..<400: "follow the redirect: leave out --no-follow"
            case 401: "give a user with -u NAME:PASSWORD"
            default: "is the path of the URL right?"
            }
        return TransferFailure(
            status == 101 ? .badServerResponse : .httpError,
            status == 101
                ? "\(shownURL) opened no WebSocket, although it switched protocols: \(advice)"
                : "\(shown(response)) and opened no WebSocket: \(advice)")
    }
}

/// Whether this end has closed a WebSocket.
private final class OwnClose: @unchecked Sendable {
    // Sendable because the lock guards the value.

    private let lock = NSLock()
    private var isNoted = false

    var wasFirst: Bool { lock.withLock { isNoted } }

    func note() { lock.withLock { isNoted = true } }
}

/// The picture on standard error. Confined to the session's loop.
private final class PrintedPicture: @unchecked Sendable {
    // Sendable because only the session's loop uses it, which calls the observer.

    private var picture: WebSocketPicture

    init(_ picture: WebSocketPicture) { self.picture = picture }

    func add(_ event: LoadEvent) {
        if let line = picture.line(for: event) { StandardError.write(line + "\n") }
    }
}
