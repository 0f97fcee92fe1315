public import Foundation
package import LoadingEvents

/// The metrics of one request and its response.
///
/// A phase that did not happen has no dates: a reused connection or a cached response has none for name resolution,
/// connection and TLS; a cleartext connection has none for TLS. An interrupted phase has a start but no end. Immutable.
open class URLSessionTaskTransactionMetrics: NSObject, @unchecked Sendable {
    // Sendable: constants only.
    private let sent: URLRequest
    private let record: TransactionRecord

    /// Metrics without values, for subclasses in tests.
    @available(*, deprecated, message: "Not supported")
    public override init() {
        sent = NSURLRequest() as URLRequest
        record = TransactionRecord()
    }

    package init(request: URLRequest, record: TransactionRecord) {
        sent = request
        self.record = record
    }

    /// The request.
    open var request: URLRequest { sent }
    /// The response, or nil if none was received.
    open var response: URLResponse? { record.response }

    /// When the load of the request began.
    open var fetchStartDate: Date? { record.fetchStart }
    /// When name resolution began.
    open var domainLookupStartDate: Date? { record.domainLookupStart }
    /// When name resolution ended.
    open var domainLookupEndDate: Date? { record.domainLookupEnd }
    /// When the connection attempt began.
    open var connectStartDate: Date? { record.connectStart }
    /// When the TLS handshake began.
    open var secureConnectionStartDate: Date? { record.secureConnectionStart }
    /// When the TLS handshake ended.
    open var secureConnectionEndDate: Date? { record.secureConnectionEnd }
    /// When the connection was established, including TLS.
    open var connectEndDate: Date? { record.connectEnd }
    /// When the first byte of the request was sent.
    open var requestStartDate: Date? { record.requestStart }
    /// When the last byte of the request was sent.
    open var requestEndDate: Date? { record.requestEnd }
    /// When the first byte of the response was received.
    open var responseStartDate: Date? { record.responseStart }
    /// When the last byte of the response was received.
    open var responseEndDate: Date? { record.responseEnd }

    /// The ALPN name of the protocol, such as "http/1.1", "h2" or "h3". Through a tunnel, that of the inner protocol.
    open var networkProtocolName: String? { record.networkProtocolName }
    /// Whether the connection went through a proxy.
    open var isProxyConnection: Bool { record.isProxyConnection ?? false }
    /// Whether the connection had been used before.
    open var isReusedConnection: Bool { record.isReusedConnection ?? false }
    /// The source of the response.
    open var resourceFetchType: URLSessionTaskMetrics.ResourceFetchType { record.resourceFetchType ?? .unknown }
    /// The protocol of name resolution.
    open var domainResolutionProtocol: URLSessionTaskMetrics.DomainResolutionProtocol {
        record.domainResolutionProtocol ?? .unknown
    }

    /// The size of the request's head on the wire, in bytes.
    open var countOfRequestHeaderBytesSent: Int64 { record.requestHeaderBytesSent ?? 0 }
    /// The size of the request's body on the wire, in bytes, including framing.
    open var countOfRequestBodyBytesSent: Int64 { record.requestBodyBytesSent ?? 0 }
    /// The size of the request's body before encoding, in bytes.
    open var countOfRequestBodyBytesBeforeEncoding: Int64 { record.requestBodyBytesBeforeEncoding ?? 0 }
    /// The size of the response's head on the wire, in bytes.
    open var countOfResponseHeaderBytesReceived: Int64 { record.responseHeaderBytesReceived ?? 0 }
    /// The size of the response's body on the wire, in bytes, including framing and content coding.
    open var countOfResponseBodyBytesReceived: Int64 { record.responseBodyBytesReceived ?? 0 }
    /// The size of the response's body after decoding, in bytes.
    open var countOfResponseBodyBytesAfterDecoding: Int64 { record.responseBodyBytesAfterDecoding ?? 0 }

    /// The local numeric address, or nil without a connection.
    open var localAddress: String? { record.localAddress }
    /// The local port.
    open var localPort: Int? { record.localPort }
    /// The remote numeric address: that of the proxy if one is used.
    open var remoteAddress: String? { record.remoteAddress }
    /// The remote port.
    open var remotePort: Int? { record.remotePort }

    /// The version of TLS, or nil for cleartext.
    open var negotiatedTLSProtocolVersion: tls_protocol_version_t? {
        record.negotiatedTLSProtocolVersion.flatMap { tls_protocol_version_t(rawValue: $0) }
    }

    /// The cipher suite, or nil for cleartext.
    open var negotiatedTLSCipherSuite: tls_ciphersuite_t? {
        record.negotiatedTLSCipherSuite.flatMap { tls_ciphersuite_t(rawValue: $0) }
    }

    /// Whether the interface was cellular. Always false on Linux, like the next two.
    open var isCellular: Bool { record.isCellular ?? false }
    /// Whether the interface was expensive (metered).
    open var isExpensive: Bool { record.isExpensive ?? false }
    /// Whether the interface was constrained (low data mode).
    open var isConstrained: Bool { record.isConstrained ?? false }
    /// Whether multipath TCP was negotiated.
    open var isMultipath: Bool { record.isMultipath ?? false }

    /// The request head as on the wire, if the configuration has a head observer.
    package var requestHead: MessageHead? { record.requestHead }
    /// The response head as on the wire, if the configuration has a head observer.
    package var responseHead: MessageHead? { record.responseHead }

    open override var description: String {
        "<\(type(of: self)): \(sent.method) \(sent), \(networkProtocolName ?? "no protocol"), "
            + "\(resourceFetchType)>"
    }
}
