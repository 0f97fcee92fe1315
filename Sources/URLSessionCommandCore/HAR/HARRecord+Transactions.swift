import Foundation
import LoadingEvents
package import URLLoading

extension HARRecord {
    /// One record for each transaction. Metrics contain no bodies; the caller adds them.
    package static func all(in metrics: URLSessionTaskMetrics) -> [HARRecord] {
        zip(metrics.transactionMetrics, TransactionTimeline.all(in: metrics)).map { transaction, timeline in
            let start = transaction.fetchStartDate ?? metrics.taskInterval.start
            let url = transaction.request.url?.absoluteString ?? timeline.url
            var record = HARRecord(timeline: timeline, start: start, url: url)
            record.requestFields =
                transaction.requestHead.map(fields) ?? HeadPrinter.fields(of: transaction.request)
            if let head = transaction.requestHead, case .request(let method, _) = head.start {
                record.timeline.method = method
            }
            if case .response(_, let reason)? = transaction.responseHead?.start { record.reason = reason }
            record.mimeType = transaction.response?.mimeType
            if let response = transaction.response as? HTTPURLResponse {
                record.responseFields = transaction.responseHead.map(fields) ?? HeadPrinter.fields(of: response)
            }
            return record
        }
    }

    private static func fields(of head: MessageHead) -> [(name: String, value: String)] {
        head.fields.map { ($0.name, $0.value) }
    }
}

extension HARRecord {
    /// The record of a CONNECT request. HAR requires a URL, so the authority-form target is written as an https URL.
    init(_ round: HeadRecorder.TunnelExchange) {
        let target = if case .request(_, let target) = round.request.start { target } else { "" }
        let url = "https://\(target)"
        var timeline = TransactionTimeline(method: "CONNECT", url: url)
        let end = max(0, round.end.timeIntervalSince(round.start))
        timeline.phases = [.init(.wait, 0, end)]
        timeline.protocolName = "http/1.1"
        timeline.isProxyConnection = true
        var reason = ""
        if case .response(let status, let phrase)? = round.response?.start {
            (timeline.status, reason) = (status, phrase)
        }
        self.init(timeline: timeline, start: round.start, url: url)
        self.reason = reason
        requestFields = round.request.fields.map { ($0.name, $0.value) }
        responseFields = round.response?.fields.map { ($0.name, $0.value) } ?? []
    }
}
