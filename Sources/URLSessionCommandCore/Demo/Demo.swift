import Foundation
import URLLoading

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// `urlsession demo`: sample loads from a server in this process, each followed by its waterfall.
struct Demo {
    private static let downloadSize: Int64 = 256 << 20

    private let style: TextStyle
    private let showsProgress: Bool
    private let terminal: Terminal

    init(color: CommandLineRequest.ColorChoice, showsProgress: Bool, terminal: Terminal) {
        style = TextStyle(color, isTerminal: terminal.outputIsTerminal, terminal: terminal)
        self.showsProgress = showsProgress && terminal.showsProgress
        self.terminal = terminal
    }

    func run() -> ExitCode {
        do throws(FileError) {
            let server = try DemoServer(downloadSize: Self.downloadSize)
            defer { server.stop() }
            return try tour(server)
        } catch {
            let failure = TransferFailure(error)
            if !failure.message.isEmpty { StandardError.write("urlsession: \(failure.message)\n") }
            return failure.exitCode
        }
    }

    private func tour(_ server: DemoServer) throws(FileError) -> ExitCode {
        let loader = DemoLoader()
        let session = URLSession(configuration: .ephemeral, delegate: loader, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let signals = InterruptedBy()
        let interruption = Interruption { code in
            signals.code = code
            loader.stop()
        }
        defer { interruption.end() }
        let steps = steps(server, session, loader, unusedPort: try DemoServer.unusedPort())
        try say(
            style.apply(.bold, "urlsession demo") + ": \(steps.count) loads from \(server.baseURL), in this process\n")
        let start = DispatchTime.now().uptimeNanoseconds
        var surprises = 0
        for (index, step) in steps.enumerated() {
            try say("\n" + style.apply(.boldBlue, "\(index + 1)  \(step.title)") + "\n")
            let result = step.run()
            if loader.wasStopped { return signals.code }
            for line in result.lines { try say("   \(line)\n") }
            if let metrics = result.outcome.metrics {
                let waterfall = Waterfall(style: style, isUTF8: terminal.isUTF8, columns: terminal.columns - 1)
                for line in waterfall.lines(
                    TransactionTimeline.all(in: metrics), duration: metrics.taskInterval.duration)
                {
                    try say(" \(line)\n")
                }
            }
            if !result.isAsExpected {
                surprises += 1
                try say("   " + style.apply(.boldRed, "This is not what the demo expects.") + "\n")
            }
        }
        let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
        let verdict = surprises == 0 ? "all as expected" : "\(surprises) not as expected"
        try say(
            "\n" + style.apply(surprises == 0 ? .boldGreen : .boldRed, "\(steps.count) loads, \(verdict)")
                + " in \(Quantity.fixed(seconds, 1)) s. Next: urlsession --metrics URL\n")
        return surprises == 0 ? .success : .unexpected
    }

    private func say(_ text: String) throws(FileError) {
        try OutputDescriptor.standardOutput.write(text)
    }
}

/// The signal that ended the demo. Written on the signal's queue before the loader stops, and read after it has
/// stopped.
private final class InterruptedBy: @unchecked Sendable {
    var code = ExitCode.interrupted
}

// MARK: Steps

extension Demo {
    fileprivate struct Result {
        var outcome: DemoLoader.Outcome
        var lines: [String]
        var isAsExpected: Bool
    }

    fileprivate struct Step {
        var title: String
        var run: () -> Result
    }

    fileprivate func steps(
        _ server: DemoServer, _ session: URLSession, _ loader: DemoLoader, unusedPort: UInt16
    ) -> [Step] {
        func request(_ path: String) -> URLRequest? { URL(string: server.baseURL + path).map { URLRequest(url: $0) } }
        func step(
            _ title: String, _ request: URLRequest?, _ run: @escaping (URLRequest) -> Result
        ) -> Step? {
            request.map { request in Step(title: title) { run(request) } }
        }
        var upload = request("/upload")
        upload?.httpMethod = "POST"
        upload?.httpBody = Data(repeating: 0x5A, count: 8 << 20)
        upload?.setValue("application/octet-stream", forHTTPHeaderField: "Content-Type")
        var silent = request("/silent")
        silent?.timeoutInterval = 0.5
        let refused = URL(string: "http://127.0.0.1:\(unusedPort)/").map { URLRequest(url: $0) }
        return [
            step("Data task: JSON, in colour on a terminal", request("/greeting")) { request in
                body(loader.load(session.dataTask(with: request)), status: 200)
            },
            step("Redirect: two requests on the existing connection", request("/moved")) { request in
                body(loader.load(session.dataTask(with: request)), status: 200, redirects: 1)
            },
            step("Data task with a body: 8 MiB are sent", upload) { request in
                body(loader.load(session.dataTask(with: request)), status: 201)
            },
            step("Data task: a body that comes line by line", request("/stream")) { request in
                stream(loader, session.dataTask(with: request))
            },
            step("Data task: \(Quantity.bytes(Self.downloadSize)) to a file", request("/download")) { request in
                download(loader, session.dataTask(with: request))
            },
            step("Failure: no server listens on this port", refused) { request in
                failure(loader.load(session.dataTask(with: request)), request, .cannotConnect)
            },
            step("Failure: the server does not answer within half a second", silent) { request in
                failure(loader.load(session.dataTask(with: request)), request, .timedOut)
            },
            step("Failure: the body is cut short", request("/truncated")) { request in
                failure(loader.load(session.dataTask(with: request)), request, .partialBody)
            },
        ].compactMap { $0 }
    }

    private func body(_ outcome: DemoLoader.Outcome, status: Int, redirects: Int = 0) -> Result {
        let text = String(decoding: outcome.body, as: UTF8.self)
        let pretty = JSONHighlighter.format(text, style: style).split(separator: "\n").map(String.init)
        let found = outcome.response?.statusCode
        let isAsExpected = outcome.error == nil && found == status && outcome.redirects == redirects
        return Result(outcome: outcome, lines: [summary(outcome)] + pretty, isAsExpected: isAsExpected)
    }

    private func stream(_ loader: DemoLoader, _ task: URLSessionTask) -> Result {
        // Printed on the delegate queue as data arrives, while this thread waits for the end.
        try? say("   ")
        let outcome = loader.load(task) { data in
            let lines = data.split(separator: 10).map { String(decoding: $0, as: UTF8.self) }
            try? say(lines.map { $0.replacing("line ", with: "") + " " }.joined())
        }
        try? say("\n")
        let lines = ["\(summary(outcome)) in \(outcome.pieces) pieces"]
        let isAsExpected = outcome.error == nil && outcome.body.count(where: { $0 == 10 }) == 12
        return Result(outcome: outcome, lines: lines, isAsExpected: isAsExpected)
    }

    private func download(_ loader: DemoLoader, _ task: URLSessionTask) -> Result {
        let path = FileManager.default.temporaryDirectory.path + "/urlsession-demo-\(getpid())"
        defer { unlink(path) }
        guard let file = try? OutputDescriptor.create(path: path) else {
            return Result(outcome: DemoLoader.Outcome(), lines: ["cannot write \(path)"], isAsExpected: false)
        }
        var outcome = loader.load(task, progress: showsProgress ? ProgressBar(terminal: terminal) : nil) { data in
            data.withUnsafeBytes { bytes in try? file.write(bytes) }
        }
        try? file.finish()
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        outcome.fileSize = (attributes?[.size] as? NSNumber)?.int64Value
        var line = summary(outcome)
        if let seconds = outcome.metrics?.taskInterval.duration, seconds > 0 {
            line += ", \(Quantity.bytes(Int64(Double(outcome.received) / seconds)))/s"
        }
        let isAsExpected = outcome.error == nil && outcome.fileSize == Self.downloadSize
        return Result(outcome: outcome, lines: [line], isAsExpected: isAsExpected)
    }

    private func failure(_ outcome: DemoLoader.Outcome, _ request: URLRequest, _ code: ExitCode) -> Result {
        guard let error = outcome.error else {
            return Result(outcome: outcome, lines: [summary(outcome)], isAsExpected: false)
        }
        var context = TransferFailure.Context(url: request.url?.absoluteString ?? "")
        context.hasResponse = outcome.response != nil
        context.received = outcome.received
        context.expected = outcome.response?.expectedContentLength ?? -1
        context.idleTimeout = request.timeoutInterval
        let failure = TransferFailure(error, context)
        let name = "URLError \((error as? URLError)?.errorCode ?? (error as NSError).code)"
        return Result(
            outcome: outcome,
            lines: [style.apply(.yellow, "\(name), exit code \(failure.exitCode.rawValue)"), failure.message],
            isAsExpected: failure.exitCode == code)
    }

    private func summary(_ outcome: DemoLoader.Outcome) -> String {
        if let error = outcome.error { return style.apply(.boldRed, "failed: \(error.localizedDescription)") }
        let status = outcome.response?.statusCode ?? 0
        let type = outcome.response?.mimeType ?? "no type"
        return style.apply(.boldGreen, "\(status) \(StatusText.reason(status))")
            + ", \(type), \(Quantity.bytes(outcome.received))"
    }
}
