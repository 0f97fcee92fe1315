import Dispatch
import Foundation
import URLLoading

/// Runs the loads of a command line: one after the other or in parallel, each with its retries. What they share is
/// here: cookies, a named session, the file of heads.
///
/// Unchecked: `lock` guards the mutable state, which loads in parallel change.
final class LoadSeries: @unchecked Sendable {
    private let requests: [CommandLineRequest]
    private let options: SeriesOptions
    private let terminal: Terminal
    private let jar: CookieJarFile?
    private var kept: (session: NamedSession, path: String)?
    private let dump: HeadDump?
    private let board: ProgressBoard?

    private let lock = NSLock()
    private var next = 0
    private var isOver = false
    private var hasResponse = false
    private var lastFailure: ExitCode?

    /// What the loads share.
    struct Shared {
        var cookies: HTTPCookieStorage?
        var dump: HeadDump?
        var board: ProgressBoard?
        /// Nil for a session of the load's own.
        var session: SharedSession?
    }

    /// - Parameter askPassword: Returns the password of a user.
    init(
        _ requests: [CommandLineRequest], _ options: SeriesOptions, terminal: Terminal,
        askPassword: (String) throws(UsageError) -> String = PasswordPrompt.ask
    ) throws(UsageError) {
        var requests = requests
        let urls = requests.compactMap { URL(string: URLArgument.complete($0.url)) }
        if let first = requests.first, let selection = first.session, let url = urls.first {
            let origin = NamedSession.origin(of: url)
            guard urls.count == requests.count, urls.allSatisfy({ NamedSession.origin(of: $0) == origin }) else {
                throw UsageError("--session belongs to one scheme, host and port, and the URLs name several")
            }
            let path = try NamedSession.path(selection, url, ProcessInfo.processInfo.environment)
            var session = try NamedSession.read(path, origin: origin)
            for index in requests.indices { session.apply(to: &requests[index]) }
            session.update(from: first)
            kept = selection.isReadOnly ? nil : (session, path)
            let cookies = CookieFile.cookies(in: session.cookies, host: url.host ?? "")
            jar = try CookieJarFile(first, urls: urls, kept: cookies)
        } else {
            jar = if let first = requests.first { try CookieJarFile(first, urls: urls) } else { nil }
        }
        try PasswordPrompt.complete(&requests, askPassword)
        self.requests = requests
        self.options = options
        self.terminal = terminal
        let first = requests.first
        dump = first?.headPath.map { HeadDump(path: $0, createsFolders: first?.createsFolders ?? false) }
        let showsBoard = options.isParallel && requests.count > 1 && terminal.showsProgress
        board = showsBoard && first.map(CommandLoad.allowsProgress) ?? false ? ProgressBoard(terminal: terminal) : nil
    }

    func run() throws(UsageError) -> ExitCode {
        let count = options.isParallel ? min(options.maximumParallel, requests.count) : 1
        let code = count == 1 ? try runInOrder() : runInParallel(count)
        board?.end()
        do throws(FileError) {
            try dump?.finish()
            try jar?.write()
            // What no server has answered may be a mistake.
            if let kept, lock.withLock({ hasResponse }) {
                var session = kept.session
                session.cookies = jar?.text ?? CookieFile.text(of: [])
                try session.write(kept.path)
            }
            return code
        } catch {
            let failure = TransferFailure(error)
            // A load that could not write its heads has said so.
            let isShown = requests.first.map { !$0.isSilent || $0.showsErrors } ?? true
            if code == .success, isShown, !failure.message.isEmpty {
                StandardError.write("urlsession: \(TextSanitizer.clean(failure.message))\n")
            }
            return code == .success ? failure.exitCode : code
        }
    }

    /// As in curl, the last load decides the exit code.
    private func runInOrder() throws(UsageError) -> ExitCode {
        var shared = Shared(cookies: jar?.storage, dump: dump, board: nil, session: nil)
        if requests.count > 1 || requests.first?.retry.count ?? 0 > 0 { shared.session = SharedSession() }
        defer { shared.session?.end() }
        var code = ExitCode.success
        for request in requests {
            code = requests.count == 1 ? try load(request, shared) : loadOfSeveral(request, shared)
            if code.endsSeries || options.failsEarly && code != .success { break }
        }
        return code
    }

    /// As in curl, the last failure decides the exit code.
    private func runInParallel(_ count: Int) -> ExitCode {
        let done = DispatchGroup()
        for _ in 0..<count {
            done.enter()
            Thread { [self] in
                work()
                done.leave()
            }.start()
        }
        done.wait()
        return lock.withLock { lastFailure ?? .success }
    }

    private func work() {
        var shared = Shared(cookies: jar?.storage, dump: dump, board: board, session: SharedSession())
        defer { shared.session?.end() }
        while let request = take() {
            let code = loadOfSeveral(request, shared)
            if code != .success { failed(code) }
            // A session of a cancelled load may still be at work.
            if code.endsSeries { shared.session = nil }
        }
    }

    private func take() -> CommandLineRequest? {
        lock.withLock {
            guard !isOver, next < requests.count else { return nil }
            next += 1
            return requests[next - 1]
        }
    }

    private func failed(_ code: ExitCode) {
        lock.withLock {
            // An interruption counts more than what it has caused.
            if !(lastFailure?.endsSeries ?? false) { lastFailure = code }
            if options.failsEarly || code.endsSeries { isOver = true }
        }
    }

    // MARK: One load

    /// A URL that cannot be loaded does not keep the others from it.
    private func loadOfSeveral(_ request: CommandLineRequest, _ shared: Shared) -> ExitCode {
        do throws(UsageError) {
            return try load(request, shared)
        } catch {
            let line = "urlsession: \(TextSanitizer.clean(error.message))\n"
            if let board { board.interrupt { StandardError.write(line) } } else { StandardError.write(line) }
            return error.exitCode
        }
    }

    private func load(_ request: CommandLineRequest, _ shared: Shared) throws(UsageError) -> ExitCode {
        var policy = RetryPolicy(request.retry)
        let start = DispatchTime.now().uptimeNanoseconds
        while true {
            let transfer = try Transfer(request, terminal: terminal, shared: shared, retrying: policy, since: start)
            transfer.load()
            if transfer.hasResponse { lock.withLock { hasResponse = true } }
            guard let next = transfer.nextTry() else { return transfer.conclude() }
            policy = next.policy
            let left = Quantity.count(policy.triesLeft, "try").replacing("trys", with: "tries")
            transfer.printWarning("\(transfer.reason): trying again in \(Self.shown(next.delay)) s, \(left) left")
            if let code = Pause.wait(next.delay) { return code }
        }
    }

    private static func shown(_ seconds: Double) -> String {
        seconds == seconds.rounded() ? Quantity.fixed(seconds, 0) : Quantity.fixed(seconds, 1)
    }
}

extension ExitCode {
    /// Whether no further load makes sense.
    fileprivate var endsSeries: Bool { self == .interrupted || self == .terminated || self == .brokenPipe }
}

/// Waits between two tries.
private enum Pause {
    /// Nil when the time is over; the exit code after a signal.
    static func wait(_ seconds: Double) -> ExitCode? {
        let condition = NSCondition()
        nonisolated(unsafe) var code: ExitCode?
        let interruption = Interruption { new in
            condition.withLock {
                code = new
                condition.signal()
            }
        }
        defer { interruption.end() }
        let end = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while code == nil, condition.wait(until: end) {}
            return code
        }
    }
}
