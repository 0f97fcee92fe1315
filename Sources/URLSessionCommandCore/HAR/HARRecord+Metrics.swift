import Foundation
import LoadingEvents
package import URLLoading

extension HARRecord {
    /// One record for each transaction; bodies are not part of metrics and are added by who has them.
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
