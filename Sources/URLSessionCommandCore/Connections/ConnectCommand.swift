import Dispatch
import Foundation
import URLLoading

/// `urlsession connect`: standard input goes to a TCP connection, and what comes from it to standard output.
final class ConnectCommand: CommandLoad, URLSessionStreamDelegate, @unchecked Sendable {
    // Sendable: as the superclass.

    private static let pieceSize = 64 * 1024

    private let options: ConnectOptions
    private let input = StandardInput()
    private let calls = BlockingCalls("urlsession.output")
    private let activity = ConnectionActivity()
    private let outputEnded = DispatchSemaphore(value: 0)
    private let idleQueue = DispatchQueue(label: "urlsession.idle")

    init(_ command: CommandLineRequest, _ options: ConnectOptions, terminal: Terminal) throws(UsageError) {
        self.options = options
        let builder = try RequestBuilder(command)
        let challenges = try ChallengeResponder(command, url: builder.request.url)
        super.init(command, builder, challenges, terminal: terminal, drawsProgress: false, retaining: .none)
    }

    /// Returns when the connection has ended and all output is written.
    func run() -> ExitCode {
        let configuration = RequestBuilder.configuration(command)
        load(configuration) { $0.streamTask(withHostName: options.host, port: options.port) }
        var report = TransferReport(command: command, terminal: terminal, verboseOutput: verboseOutput)
        report.failure = outcome()
        return report.conclude()
    }

    // MARK: CommandLoad

    override func began(_ task: URLSessionTask) {
        guard let stream = task as? URLSessionStreamTask else {
            outputEnded.signal()
            return
        }
        if let limit = command.idleTimeout { watch(stream, limit) }
        Task {
            await converse(stream)
            outputEnded.signal()
        }
    }

    override func ended(_ task: URLSessionTask) {
        guard command.verbosity > 0 else { return }
        let (sent, received) = (task.countOfBytesSent, task.countOfBytesReceived)
        StandardError.write("* sent \(sent) bytes, received \(received) bytes\n")
    }

    override func settle() { outputEnded.wait() }

    // MARK: Conversation

    private func converse(_ stream: URLSessionStreamTask) async {
        do {
            switch options.security {
            case .none: break
            case .fromTheStart: stream.startSecureConnection()
            case .after(let applicationProtocol):
                try await negotiate(applicationProtocol, on: stream)
                stream.startSecureConnection()
            }
            Task { await send(stream) }
            try await receive(stream)
            // The end of the connection ends the command, whatever standard input still has.
            stream.closeWrite()
        } catch let failure as TransferFailure {
            end(stream, failure)
        } catch let error as FileError {
            end(stream, TransferFailure(error))
        } catch {
            // The error of the task, which the delegate gets.
        }
    }

    private func receive(_ stream: URLSessionStreamTask) async throws {
        let form = OutputForm(command, terminal: terminal)
        var sanitizer = form.isFormatted ? TextSanitizer(isUTF8: terminal.isUTF8) : nil
        var output: OutputDescriptor?
        var isAtEnd = false
        while !isAtEnd {
            let data: Data?
            (data, isAtEnd) = try await stream.readData(ofMinLength: 1, maxLength: Self.pieceSize, timeout: 0)
            activity.note()
            let descriptor = try output ?? OutputDescriptor.opened(command.destination)
            output = descriptor
            var bytes = [UInt8](data ?? Data())
            if sanitizer != nil {
                var shown: [UInt8] = []
                for byte in bytes { sanitizer?.add(byte, to: &shown) }
                if isAtEnd { sanitizer?.finish(to: &shown) }
                bytes = shown
            }
            let ready = bytes
            try await activity.whileWriting { () throws(FileError) in try await calls.write(ready, to: descriptor) }
        }
        try output?.finish()
    }

    private func send(_ stream: URLSessionStreamTask) async {
        do {
            while case let piece = try await input.read(), !piece.isEmpty {
                try await stream.write(Data(piece), timeout: 0)
                activity.note()
            }
            stream.closeWrite()
        } catch let error as FileError {
            end(stream, TransferFailure(.readError, "cannot read \(error.path): \(error.reason)"))
        } catch {
            // The error of the task, which the delegate gets.
        }
    }

    // MARK: TLS

    private func negotiate(
        _ applicationProtocol: StartTLS.ApplicationProtocol, on stream: URLSessionStreamTask
    ) async throws {
        var negotiation = StartTLS(applicationProtocol, host: options.host)
        var output = negotiation.opening
        while true {
            if !output.isEmpty {
                show(output, ">", applicationProtocol)
                try await stream.write(Data(output), timeout: 0)
            }
            let (data, isAtEnd) = try await stream.readData(ofMinLength: 1, maxLength: Self.pieceSize, timeout: 0)
            activity.note()
            let bytes = [UInt8](data ?? Data())
            show(bytes, "<", applicationProtocol)
            do {
                guard case .going(let next) = try negotiation.receive(bytes) else { return }
                output = next
            } catch {
                throw refusal(error.reason)
            }
            if isAtEnd { throw refusal("closed the connection") }
        }
    }

    private func refusal(_ reason: String) -> TransferFailure {
        TransferFailure(
            .startTLSRefused,
            "no STARTTLS: \(authority) \(reason): is the port right, or is it TLS from the start (--tls)?")
    }

    // MARK: Verbose output

    /// Prints the steps before TLS.
    private func show(_ bytes: [UInt8], _ mark: String, _ applicationProtocol: StartTLS.ApplicationProtocol) {
        guard command.verbosity > 0, !bytes.isEmpty else { return }
        guard applicationProtocol != .ldap, applicationProtocol != .postgres else {
            return StandardError.write(HexDump.lines(bytes, limit: 256).map { "\(mark) \($0)\n" }.joined())
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        StandardError.write(lines.map { "\(mark) \(TextSanitizer.clean(String($0)))\n" }.joined())
    }

    // MARK: Ending

    /// Ends the connection when nothing was sent or received for so long.
    private func watch(_ stream: URLSessionStreamTask, _ limit: Double) {
        let rest = limit - activity.silence
        guard rest <= 0 else {
            return idleQueue.asyncAfter(deadline: .now() + rest) { [weak stream] in
                if let stream, stream.state == .running { self.watch(stream, limit) }
            }
        }
        let seconds = limit == limit.rounded() ? Quantity.fixed(limit, 0) : "\(limit)"
        end(
            stream,
            TransferFailure(
                .timedOut,
                "nothing was sent to \(authority) or received from it for \(seconds) s: "
                    + "allow more time with --idle-timeout"))
    }

    private func end(_ stream: URLSessionStreamTask, _ failure: TransferFailure) {
        stop.set(failure)
        stream.cancel()
    }

    private var authority: String { TransferFailure.Context(url: options.url).authority }

    private func outcome() -> TransferFailure? {
        if stop.value == nil, let loadError, (loadError as? URLError)?.code == .networkConnectionLost {
            return TransferFailure(
                .connectionLost,
                "the connection to \(authority) was lost\(FailureReasons.parenthesis(loadError)): try again")
        }
        return failure(hasResponse: true, expected: -1)
    }
}
