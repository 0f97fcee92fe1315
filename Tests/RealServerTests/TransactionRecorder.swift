import Foundation
import TestSupport
import URLLoading

/// The transactions of all tasks, in the order of their completion.
final class TransactionRecorder: NSObject, URLSessionTaskDelegate, Sendable {
    let transactions = EventRecorder<URLSessionTaskTransactionMetrics>()
    /// The identifiers of tasks that wait for connectivity.
    let waiting = EventRecorder<Int>()

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        for transaction in metrics.transactionMetrics { transactions.record(transaction) }
    }

    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {
        waiting.record(task.taskIdentifier)
    }

    /// A recorder with a session without cache.
    ///
    /// - Parameter isDirect: Whether there are no proxies, whatever the system says.
    static func record<Result>(
        isDirect: Bool = false, waitsForConnectivity: Bool = false,
        _ body: (URLSession, TransactionRecorder) async throws -> Result
    ) async throws -> Result {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = 20
        configuration.waitsForConnectivity = waitsForConnectivity
        if isDirect { configuration.connectionProxyDictionary = [:] }
        let recorder = TransactionRecorder()
        let session = URLSession(configuration: configuration, delegate: recorder, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        return try await body(session, recorder)
    }
}
