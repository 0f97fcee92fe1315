import Foundation
import URLLoading

/// Reports the end of a load: waterfall, archive, error message, exit code.
struct TransferReport {
    let command: CommandLineRequest
    let terminal: Terminal
    let verboseOutput: VerboseOutput
    var metrics: URLSessionTaskMetrics?
    var failure: TransferFailure?
    var requestBody: HARRecord.Body?
    var responseBody: HARRecord.Body?
    var tunnelExchanges: [HeadRecorder.TunnelExchange] = []
    /// Draws the progress of other loads, between which messages are printed.
    var board: ProgressBoard?

    func conclude() -> ExitCode {
        verboseOutput.metrics(metrics)
        if command.showsMetrics { printWaterfall() }
        let archiveFailure = writeArchive()
        for failure in [failure, archiveFailure].compactMap({ $0 }) where !failure.message.isEmpty {
            if !command.isSilent || command.showsErrors { print("urlsession: \(failure.message)\n") }
        }
        return failure?.exitCode ?? archiveFailure?.exitCode ?? .success
    }

    private func printWaterfall() {
        guard let metrics else { return }
        let style = TextStyle(command.color, isTerminal: terminal.errorIsTerminal, terminal: terminal)
        let waterfall = Waterfall(style: style, isUTF8: terminal.isUTF8, columns: terminal.columns)
        let lines = waterfall.lines(TransactionTimeline.all(in: metrics), duration: metrics.taskInterval.duration)
        print(lines.map { $0 + "\n" }.joined())
    }

    private func print(_ text: String) {
        if let board { board.interrupt { StandardError.write(text) } } else { StandardError.write(text) }
    }

    private func writeArchive() -> TransferFailure? {
        guard let path = command.harPath else { return nil }
        var records = metrics.map(HARRecord.all) ?? []
        if !records.isEmpty {
            records[records.count - 1].responseBody = responseBody
            records[records.count - 1].failure = failure?.message
            for index in records.indices where records[index].timeline.method == command.method {
                records[index].requestBody = requestBody
            }
        }
        // Metrics do not contain CONNECT requests.
        records = (tunnelExchanges.map(HARRecord.init) + records).sorted { $0.start < $1.start }
        let entries = records.map { $0.entry(showingSecrets: command.harIncludesSecrets) }
        do {
            var data = try HARDocument(creatorVersion: Command.version, entries: entries).encoded()
            data.append(UInt8(ascii: "\n"))
            let file =
                command.printsArchive
                ? OutputDescriptor.standardOutput : try OutputDescriptor.create(path: path, isPrivate: true)
            try file.write(Array(data))
            try file.finish()
            return nil
        } catch let error as FileError {
            return TransferFailure(error)
        } catch {
            return TransferFailure(.writeError, "cannot write '\(path)': \(error.localizedDescription)")
        }
    }
}
