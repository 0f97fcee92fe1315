public import Foundation
package import LoadingEvents

/// What one request and its response did, and when.
///
/// A phase that did not happen has no dates: a reused connection or a cached response has none for name resolution,
/// connection and TLS; cleartext has none for TLS. A phase cut short has a start and no end. Immutable.
open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    // Sendable: constants only.
    private let sent: URLRequest
    private let record: TransactionRecord

    package init(request: URLRequest, record: TransactionRecord) {
        sent = request
        self.record = record
    }

    /// The request.
    open var request: URLRequest { sent }
    /// The response, or nil if none came.
    open var response: URLResponse? { record.response }

    /// When the work on the request began.
    open var fetchStartDate: Date? { record.fetchStart }
    /// When name resolution began.
    open var domainLookupStartDate: Date? { record.domainLookupStart }
    /// When name resolution ended.
    open var domainLookupEndDate: Date? { record.domainLookupEnd }
    /// When the connection was begun.
    open var connectStartDate: Date? { record.connectStart }
    /// When the TLS handshake began.
    open var secureConnectionStartDate: Date? { record.secureConnectionStart }
    /// When the TLS handshake ended.
    open var secureConnectionEndDate: Date? { record.secureConnectionEnd }
    /// When the connection was ready, TLS included.
    open var connectEndDate: Date? { record.connectEnd }
    /// When the first byte of the request was sent.
    open var requestStartDate: Date? { record.requestStart }
    /// When the last byte of the request was sent.
    open var requestEndDate: Date? { record.requestEnd }
    /// When the first byte of the response came.
    open var responseStartDate: Date? { record.responseStart }
    /// When the last byte of the response came.
    open var responseEndDate: Date? { record.responseEnd }

    /// The ALPN name of the protocol, such as "http/1.1", "h2" or "h3"; through a tunnel, of the one inside.
    open var networkProtocolName: String? { record.networkProtocolName }
    /// Whether a proxy was in between.
    open var isProxyConnection: Bool { record.isProxyConnection ?? false }
    /// Whether the connection had been used before.
    open var isReusedConnection: Bool { record.isReusedConnection ?? false }
    /// Where the bytes came from.
    open var resourceFetchType: URLSessionTaskMetrics.ResourceFetchType { record.resourceFetchType ?? .unknown }
    /// How the host's name was resolved.
    open var domainResolutionProtocol: URLSessionTaskMetrics.DomainResolutionProtocol {
        record.domainResolutionProtocol ?? .unknown
    }

    /// Bytes of the request's header on the wire.
    open var countOfRequestHeaderBytesSent: Int64 { record.requestHeaderBytesSent ?? 0 }
    /// Bytes of the request's body on the wire, framing included.
    open var countOfRequestBodyBytesSent: Int64 { record.requestBodyBytesSent ?? 0 }
    /// Bytes of the request's body as the user gave it.
    open var countOfRequestBodyBytesBeforeEncoding: Int64 { record.requestBodyBytesBeforeEncoding ?? 0 }
    /// Bytes of the response's header on the wire.
    open var countOfResponseHeaderBytesReceived: Int64 { record.responseHeaderBytesReceived ?? 0 }
    /// Bytes of the response's body on the wire, framing and coding included.
    open var countOfResponseBodyBytesReceived: Int64 { record.responseBodyBytesReceived ?? 0 }
    /// Bytes of the response's body as the user gets it.
    open var countOfResponseBodyBytesAfterDecoding: Int64 { record.responseBodyBytesAfterDecoding ?? 0 }

    /// The numeric address of this end of the connection, or nil without one.
    open var localAddress: String? { record.localAddress }
    /// The port of this end of the connection.
    open var localPort: Int? { record.localPort }
    /// The numeric address of the other end: the proxy's when there is one.
    open var remoteAddress: String? { record.remoteAddress }
    /// The port of the other end.
    open var remotePort: Int? { record.remotePort }

    /// The version of TLS, or nil for cleartext.
    open var negotiatedTLSProtocolVersion: tls_protocol_version_t? {
        record.negotiatedTLSProtocolVersion.flatMap { tls_protocol_version_t(rawValue: $0) }
    }

    /// The cipher suite, or nil for cleartext.
    open var negotiatedTLSCipherSuite: tls_ciphersuite_t? {
        record.negotiatedTLSCipherSuite.flatMap { tls_ciphersuite_t(rawValue: $0) }
    }

    /// Whether the interface was cellular. On Linux false unless the system says so, as are the next two.
    open var isCellular: Bool { record.isCellular ?? false }
    /// Whether the interface was metered.
    open var isExpensive: Bool { record.isExpensive ?? false }
    /// Whether the interface was in a data-saving mode.
    open var isConstrained: Bool { record.isConstrained ?? false }
    /// Whether client and server had agreed to use several paths at once (multipath TCP).
    open var isMultipath: Bool { record.isMultipath ?? false }

    /// What the request said on the wire, where the configuration has its heads observed.
    package var requestHead: MessageHead? { record.requestHead }
    /// What the response said on the wire, likewise.
    package var responseHead: MessageHead? { record.responseHead }

    open override var description: String {
        "<\(type(of: self)): \(sent.method) \(sent), \(networkProtocolName ?? "no protocol"), "
            + "\(resourceFetchType)>"
    }
}
