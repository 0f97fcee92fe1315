import Foundation
import URLLoading

/// What `-v` tells on standard error: `>` what was asked, `<` what was answered, `*` what happened.
struct Narrator {
    private let isOn: Bool
    private let showsSecrets: Bool
    private let printer: HeadPrinter

    init(_ command: CommandLineRequest, terminal: Terminal) {
        isOn = command.verbosity > 0
        showsSecrets = command.verbosity > 1
        let style = TextStyle(command.color, isTerminal: terminal.errorIsTerminal, terminal: terminal)
        printer = HeadPrinter(style: style, isForPerson: true, isUTF8: terminal.isUTF8)
    }

    func request(_ request: URLRequest) {
        guard isOn else { return }
        let url = request.url?.absoluteString ?? ""
        write(
            printer.requestHead(
                method: request.httpMethod ?? "GET",
                target: showsSecrets ? url : SecretFields.withoutUserInformation(url),
                fields: shown(HeadPrinter.fields(of: request)), prefix: "> "))
    }

    func response(_ response: HTTPURLResponse) {
        guard isOn else { return }
        write(
            printer.responseHead(
                status: response.statusCode, fields: shown(HeadPrinter.fields(of: response)), prefix: "< "))
    }

    func redirect(to request: URLRequest) {
        guard isOn else { return }
        write("* following the redirect\n")
        self.request(request)
    }

    func metrics(_ metrics: URLSessionTaskMetrics?) {
        guard isOn, let metrics else { return }
        for timeline in TransactionTimeline.all(in: metrics) {
            let status = timeline.status.map { "\($0)" } ?? "no response"
            let facts = [
                timeline.protocolName, timeline.remoteAddress, timeline.tls,
                timeline.isReusedConnection ? "connection reused" : nil, timeline.isFromCache ? "from the cache" : nil,
                "sent \(timeline.requestHeaderBytes) + \(timeline.requestBodyBytes) bytes",
                "received \(timeline.responseHeaderBytes) + \(timeline.responseBodyBytes) bytes",
            ]
            write("* \(timeline.method) \(status): " + facts.compactMap { $0 }.joined(separator: ", ") + "\n")
        }
        write("* \(Quantity.milliseconds(metrics.taskInterval.duration)) in all\n")
    }

    private func shown(_ fields: [(name: String, value: String)]) -> [(name: String, value: String)] {
        showsSecrets ? fields : fields.map { ($0.name, SecretFields.redact(name: $0.name, value: $0.value)) }
    }

    private func write(_ text: String) {
        StandardError.write(text)
    }
}
