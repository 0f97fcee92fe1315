internal import Foundation
package import LoadingEvents

/// The measured values of one transaction, the storage of ``URLSessionTaskTransactionMetrics``.
///
/// Values of events that did not happen are nil. Byte counts are on the wire unless stated otherwise.
package struct TransactionRecord: Sendable {
    package var response: URLResponse?
    /// The request, if it is one by which an upload resumes and not the task's own.
    package var ownRequest: (method: String, url: String)?

    package var fetchStart: Date?
    package var domainLookupStart: Date?
    package var domainLookupEnd: Date?
    package var connectStart: Date?
    package var secureConnectionStart: Date?
    package var secureConnectionEnd: Date?
    package var connectEnd: Date?
    package var requestStart: Date?
    package var requestEnd: Date?
    package var responseStart: Date?
    package var responseEnd: Date?

    /// The ALPN name of the protocol: "http/1.1", "h2", "h3".
    package var networkProtocolName: String?
    package var isProxyConnection: Bool?
    package var isReusedConnection: Bool?
    package var resourceFetchType: URLSessionTaskMetrics.ResourceFetchType?
    package var domainResolutionProtocol: URLSessionTaskMetrics.DomainResolutionProtocol?

    package var requestHeaderBytesSent: Int64?
    package var requestBodyBytesSent: Int64?
    package var requestBodyBytesBeforeEncoding: Int64?
    package var responseHeaderBytesReceived: Int64?
    package var responseBodyBytesReceived: Int64?
    package var responseBodyBytesAfterDecoding: Int64?

    package var localAddress: String?
    package var localPort: Int?
    package var remoteAddress: String?
    package var remotePort: Int?
    /// The numbers of the TLS protocol.
    package var negotiatedTLSProtocolVersion: UInt16?
    package var negotiatedTLSCipherSuite: UInt16?
    package var isCellular: Bool?
    package var isExpensive: Bool?
    package var isConstrained: Bool?
    package var isMultipath: Bool?

    /// The heads as on the wire, if they are observed.
    package var requestHead: MessageHead?
    package var responseHead: MessageHead?

    /// Whether the transaction ended with an error.
    package var hasFailed = false

    package init() {}
}
