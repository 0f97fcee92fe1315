import Foundation
package import URLLoading

extension HARRecord {
    /// One record for each transaction; bodies are not part of metrics and are added by who has them.
    package static func all(in metrics: URLSessionTaskMetrics) -> [HARRecord] {
        zip(metrics.transactionMetrics, TransactionTimeline.all(in: metrics)).map { transaction, timeline in
            let start = transaction.fetchStartDate ?? metrics.taskInterval.start
            let url = transaction.request.url?.absoluteString ?? timeline.url
            var record = HARRecord(timeline: timeline, start: start, url: url)
            record.requestFields = HeadPrinter.fields(of: transaction.request)
            record.mimeType = transaction.response?.mimeType
            if let response = transaction.response as? HTTPURLResponse {
                record.responseFields = HeadPrinter.fields(of: response)
            }
            return record
        }
    }
}
