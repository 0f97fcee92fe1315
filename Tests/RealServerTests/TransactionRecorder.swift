import Foundation
import TestSupport
import URLLoading

/// The transactions of all tasks, in the order of their ends.
final class TransactionRecorder: NSObject, URLSessionTaskDelegate, Sendable {
    let transactions = EventRecorder<URLSessionTaskTransactionMetrics>()

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        for transaction in metrics.transactionMetrics { transactions.record(transaction) }
    }

    /// Has a session without a cache load, and writes down what it does.
    ///
    /// - Parameter isDirect: Whether there are no proxies, whatever the system says.
    static func record<Result>(
        isDirect: Bool = false, _ body: (URLSession, TransactionRecorder) async throws -> Result
    ) async throws -> Result {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = 20
        if isDirect { configuration.connectionProxyDictionary = [:] }
        let recorder = TransactionRecorder()
        let session = URLSession(configuration: configuration, delegate: recorder, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        return try await body(session, recorder)
    }
}
