import BackgroundTransfers
import Foundation
import URLLoading

/// `urlsession background`: the background transfers of the user.
struct BackgroundCommand {
    private let request: CommandLineRequest
    private let options: BackgroundOptions
    private let terminal: Terminal

    /// How long the service may take for a reply. Seconds. It may have to read its journal first.
    private static let timeout = 20.0

    init(_ request: CommandLineRequest, _ options: BackgroundOptions, terminal: Terminal) {
        self.request = request
        self.options = options
        self.terminal = terminal
    }

    func run() throws(UsageError) -> ExitCode {
        switch options.action {
        case .add: return try BackgroundAddition(request, options, terminal: terminal).run()
        case .deliver: return BackgroundDelivery.run()
        case .serve:
            BackgroundService.run(ServiceListener.ofSystemd { name in getenv(name).map { String(cString: $0) } })
        case .install: return try BackgroundInstallation().run()
        case .list: return try list()
        case .watch: return try watch()
        case .pause: return try control(.pause, "paused")
        case .resume: return try control(.resume, "resumed")
        case .cancel: return try control(.cancel, "cancelled")
        case .log: return try log()
        }
    }

    // MARK: The service

    /// Nil if none runs.
    private func connect() throws(UsageError) -> ServiceConversation? {
        do throws(ServiceStartFailure) {
            return try ServiceStart.connectIfRunning(to: ServicePlace()).map { ServiceConversation($0) }
        } catch {
            throw UsageError("the background service cannot be reached: \(error)", exitCode: .unavailable)
        }
    }

    /// Connects, and calls `body` with the list of all transfers. Without a service there are none.
    private func withTransfers<Result>(
        _ body: ([ListedTransfer], ServiceConversation?) throws(UsageError) -> Result
    ) throws(UsageError) -> Result {
        guard let service = try connect() else {
            StandardError.write("urlsession: no background service is running: nothing is being transferred\n")
            return try body([], nil)
        }
        defer { service.close() }
        service.send([.list])
        var transfers: [ListedTransfer] = []
        while true {
            for notice in try notices(of: service, within: Self.timeout) {
                switch notice {
                case .transfers(let some): transfers += some
                case .listed: return try body(transfers, service)
                default: break
                }
            }
        }
    }

    /// The next notices. Refusals and the end of the service are errors.
    private func notices(of service: ServiceConversation, within seconds: Double) throws(UsageError) -> [ServiceNotice]
    {
        let events = service.next(until: Date(timeIntervalSinceNow: seconds))
        if events.isEmpty { throw UsageError("the background service does not answer", exitCode: .unavailable) }
        var notices: [ServiceNotice] = []
        for event in events {
            switch event {
            case .notice(.refused(let refusal)): throw Self.error(refusal)
            case .notice(let notice): notices.append(notice)
            case .ended(let end) where notices.isEmpty: throw Self.error(end)
            case .ended, .interrupted: break
            }
        }
        return notices
    }

    static func error(_ refusal: ServiceRefusal) -> UsageError {
        let message =
            switch refusal {
            case .version(let oldest, let newest, let program):
                newest < ServiceProtocol.oldestVersion
                    ? "the background service is older than this command: end \(program), and it is started anew"
                    : "the background service (\(program), versions \(oldest) to \(newest)) is newer: update urlsession"
            case .journal(let reason): "the background service cannot use its journal: \(reason)"
            case .sessionInUse: "another program has the session"
            case .invalidMessage: "the background service does not understand this command: update the older of both"
            }
        return UsageError(message, exitCode: .unavailable)
    }

    static func error(_ end: MessageSocketEnd) -> UsageError {
        let message =
            switch end {
            case .closed: "the background service has ended the connection"
            case .error(let code):
                "the connection to the background service is lost: \(String(cString: strerror(code)))"
            case .tooLong, .malformed, .unknownVersion, .backlog:
                "the background service sends what this command does not understand: update the older of both"
            }
        return UsageError(message, exitCode: .unavailable)
    }

    private func print(_ text: String) throws(UsageError) {
        do throws(FileError) {
            try OutputDescriptor.standardOutput.write(text)
        } catch {
            let failure = TransferFailure(error)
            throw UsageError(failure.message, exitCode: failure.exitCode)
        }
    }

    private var style: TextStyle {
        TextStyle(request.color, isTerminal: terminal.outputIsTerminal, terminal: terminal)
    }

    private var table: TransferTable {
        TransferTable(
            style: style, isUTF8: terminal.isUTF8, columns: terminal.outputIsTerminal ? terminal.columns : nil)
    }

    private static var now: Double { Date().timeIntervalSince1970 }

    // MARK: Actions

    private func list() throws(UsageError) -> ExitCode {
        let (isJSON, table) = (options.isJSON, table)
        return try withTransfers { transfers, service throws(UsageError) in
            if isJSON {
                try print(TransferJSON.text(transfers, now: Self.now))
            } else if !transfers.isEmpty {
                try print(table.lines(transfers, now: Self.now).joined(separator: "\n") + "\n")
            } else if service != nil {
                StandardError.write("urlsession: there are no background transfers\n")
            }
            return .success
        }
    }

    private func control(_ control: TransferControl, _ done: String) throws(UsageError) -> ExitCode {
        let names = options.words
        return try withTransfers { transfers, service throws(UsageError) in
            let found = try TransferSelection.find(names, among: transfers)
            guard let service else { return .unavailable }
            service.send(found.map { .control($0.reference, control) })
            var left = Set(found.map(\.reference))
            var code = ExitCode.success
            while !left.isEmpty {
                for notice in try notices(of: service, within: Self.timeout) {
                    guard case .controlled(let reference, let isDone) = notice, left.remove(reference) != nil else {
                        continue
                    }
                    let name = TextSanitizer.clean(TransferSelection.name(reference), isUTF8: terminal.isUTF8)
                    StandardError.write(isDone ? "\(done) \(name)\n" : "urlsession: \(name) has ended already\n")
                    if !isDone { code = .unavailable }
                }
            }
            return code
        }
    }

    private func log() throws(UsageError) -> ExitCode {
        let names = options.words
        return try withTransfers { transfers, service throws(UsageError) in
            let found = try TransferSelection.find(names, among: transfers)
            guard let service else { return .success }
            service.send(found.map { .describe($0.reference) })
            var left = found.count
            while left > 0 {
                for notice in try notices(of: service, within: Self.timeout) {
                    guard case .described(_, let described) = notice else { continue }
                    left -= 1
                    // It may have been removed meanwhile.
                    guard let described else { continue }
                    try print(
                        TransferDetails.text(
                            described.transfer, history: described.history, now: Self.now, isUTF8: terminal.isUTF8))
                }
            }
            return .success
        }
    }

    private func watch() throws(UsageError) -> ExitCode {
        guard let service = try connect() else {
            StandardError.write("urlsession: no background service is running: nothing is being transferred\n")
            return .success
        }
        defer { service.close() }
        let interruption = Interruption { service.interrupt($0) }
        defer { interruption.end() }
        service.send([.watch])
        var watcher = LiveTransfers(table, terminal: terminal)
        while true {
            let events = service.next(until: watcher.nextDrawing)
            for event in events {
                switch event {
                case .notice(.refused(let refusal)): throw Self.error(refusal)
                case .notice(let notice): try print(watcher.handle(notice, now: Self.now))
                case .ended(.closed):
                    try print(watcher.draw(now: Self.now))
                    StandardError.write("urlsession: the background service has ended: nothing is being transferred\n")
                    return .success
                case .ended(let end): throw Self.error(end)
                case .interrupted(let code): return code
                }
            }
            if watcher.nextDrawing <= Date() { try print(watcher.draw(now: Self.now)) }
        }
    }
}
