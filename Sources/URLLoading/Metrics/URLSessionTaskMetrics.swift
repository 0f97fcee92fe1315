public import Foundation

/// What a task did and how long each part took.
///
/// Delivered once for every task that was resumed, failed and cancelled ones too, just before its completion. Immutable.
open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    // Sendable: constants only.
    private let transactions: [URLSessionTaskTransactionMetrics]
    private let interval: DateInterval
    private let redirects: Int

    package init(
        transactionMetrics: [URLSessionTaskTransactionMetrics], taskInterval: DateInterval, redirectCount: Int
    ) {
        transactions = transactionMetrics
        interval = taskInterval
        redirects = redirectCount
    }

    /// How the name of a host was resolved.
    public enum DomainResolutionProtocol: Int, Sendable {
        case unknown = 0
        /// Plain DNS over UDP.
        case udp = 1
        /// Plain DNS over TCP.
        case tcp = 2
        /// DNS over TLS.
        case tls = 3
        /// DNS over HTTPS.
        case https = 4
    }

    /// Where the bytes of a transaction came from.
    public enum ResourceFetchType: Int, Sendable {
        case unknown = 0
        /// The network.
        case networkLoad = 1
        /// A push by the server. Never seen here: pushes are refused.
        case serverPush = 2
        /// The cache on this machine.
        case localCache = 3
    }

    /// One entry for each request and response in order: redirects, authentication and revalidation add entries.
    open var transactionMetrics: [URLSessionTaskTransactionMetrics] { transactions }

    /// From the task's creation to just before its completion.
    open var taskInterval: DateInterval { interval }

    /// How many redirects were followed.
    open var redirectCount: Int { redirects }

    open override var description: String {
        "<\(type(of: self)): \(interval.duration) s, \(redirects) redirects, \(transactions)>"
    }
}
