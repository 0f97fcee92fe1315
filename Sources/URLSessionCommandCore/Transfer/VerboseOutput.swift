import Foundation
import LoadingEvents
import URLLoading

/// Implements `-v`: prints on standard error request heads (`>`), response heads (`<`) and events (`*`).
struct VerboseOutput {
    private let isOn: Bool
    private let showsSecrets: Bool
    private let printer: HeadPrinter

    init(_ command: CommandLineRequest, terminal: Terminal) {
        isOn = command.verbosity > 0
        showsSecrets = command.verbosity > 1
        let style = TextStyle(command.color, isTerminal: terminal.errorIsTerminal, terminal: terminal)
        printer = HeadPrinter(style: style, isFormatted: true, isUTF8: terminal.isUTF8)
    }

    /// Prints a request that is not HTTP. HTTP requests are printed by `head` as sent.
    func request(_ request: URLRequest) {
        guard isOn, !["http", "https", "ws", "wss"].contains(request.url?.scheme?.lowercased()) else { return }
        let url = request.url?.absoluteString ?? ""
        write(
            printer.requestHead(
                method: request.httpMethod ?? "GET",
                target: showsSecrets ? url : SecretText.hiding(in: url, as: .address),
                fields: [], prefix: "> "))
    }

    /// Prints a request or response head as on the wire.
    func head(_ head: MessageHead) {
        guard isOn else { return }
        let fields = shown(head.fields.map { ($0.name, $0.value) })
        switch head.start {
        case .request(let method, let target):
            write(
                printer.requestHead(
                    method: method, target: showsSecrets ? target : SecretText.hiding(in: target, as: .address),
                    version: head.version, fields: fields, prefix: "> "))
        case .response(let status, let reason):
            write(
                printer.responseHead(
                    status: status, version: head.version,
                    reason: showsSecrets ? reason : SecretText.hiding(in: reason), fields: fields, prefix: "< "))
        }
    }

    func redirect() {
        if isOn { write("* following the redirect\n") }
    }

    /// Prints the certificate chain of a server, leaf first.
    func certificates(_ trust: SecTrust, of host: String) {
        guard isOn, let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] else { return }
        write("* certificates of \(TextSanitizer.clean(host)):\n")
        for (index, certificate) in chain.enumerated() {
            let name = SecCertificateCopySubjectSummary(certificate).map { TextSanitizer.clean($0 as String) } ?? "?"
            let dates = [
                SecCertificateCopyNotValidBeforeDate(certificate), SecCertificateCopyNotValidAfterDate(certificate),
            ].map { $0.map { ($0 as Date).formatted(.iso8601) } ?? "?" }
            write("*   \(index) \(name), valid from \(dates[0]) until \(dates[1])\n")
        }
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
