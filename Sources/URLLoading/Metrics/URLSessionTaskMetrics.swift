public import Foundation

/// The metrics of a task.
///
/// Delivered once for every task that was resumed, including failed and cancelled ones, just before its completion.
/// Immutable.
open class URLSessionTaskMetrics: NSObject, @unchecked Sendable {
    // Sendable: constants only.
    private let transactions: [URLSessionTaskTransactionMetrics]
    private let interval: DateInterval
    private let redirects: Int

    /// Metrics without transactions, for subclasses in tests.
    @available(*, deprecated, message: "Not supported")
    public override init() {
        transactions = []
        interval = DateInterval()
        redirects = 0
    }

    package init(
        transactionMetrics: [URLSessionTaskTransactionMetrics], taskInterval: DateInterval, redirectCount: Int
    ) {
        transactions = transactionMetrics
        interval = taskInterval
        redirects = redirectCount
    }

    /// The protocol of name resolution.
    @frozen public enum DomainResolutionProtocol: Int, Sendable {
        /// Not known, or no name was resolved. Always so on Linux: `getaddrinfo` does not report it.
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

    /// The source of a response.
    @frozen public enum ResourceFetchType: Int, Sendable {
        /// No response was received.
        case unknown = 0
        /// The network.
        case networkLoad = 1
        /// A server push. Never used: pushes are refused.
        case serverPush = 2
        /// The local cache.
        case localCache = 3
    }

    /// One entry for each transaction in order. Redirects, authentication and revalidation add transactions.
    open var transactionMetrics: [URLSessionTaskTransactionMetrics] { transactions }

    /// From the task's creation to just before its completion.
    open var taskInterval: DateInterval { interval }

    /// The number of followed redirects.
    open var redirectCount: Int { redirects }

    open override var description: String {
        "<\(type(of: self)): \(interval.duration) s, \(redirects) redirects, \(transactions)>"
    }
}
