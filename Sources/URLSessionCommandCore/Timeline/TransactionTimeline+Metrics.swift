import Foundation
package import URLLoading

extension TransactionTimeline {
    package static func all(in metrics: URLSessionTaskMetrics) -> [TransactionTimeline] {
        let origin = metrics.taskInterval.start
        return metrics.transactionMetrics.map { TransactionTimeline($0, origin: origin) }
    }

    private init(_ metrics: URLSessionTaskTransactionMetrics, origin: Date) {
        self.init(
            method: metrics.request.httpMethod ?? "GET",
            url: SecretText.hiding(in: metrics.request.url?.absoluteString ?? "", as: .address),
            status: (metrics.response as? HTTPURLResponse)?.statusCode,
            phases: Moments(metrics, origin: origin).phases)
        protocolName = metrics.networkProtocolName
        remoteAddress = metrics.remoteAddress.map { address in
            let host = address.contains(":") ? "[\(address)]" : address
            return metrics.remotePort.map { "\(host):\($0)" } ?? host
        }
        tls = metrics.negotiatedTLSProtocolVersion.map { version in
            let suite = metrics.negotiatedTLSCipherSuite.map { ", " + TLSName.cipherSuite($0.rawValue) } ?? ""
            return TLSName.version(version.rawValue) + suite
        }
        isReusedConnection = metrics.isReusedConnection
        isProxyConnection = metrics.isProxyConnection
        isFromCache = metrics.resourceFetchType == .localCache
        requestHeaderBytes = metrics.countOfRequestHeaderBytesSent
        requestBodyBytes = metrics.countOfRequestBodyBytesSent
        responseHeaderBytes = metrics.countOfResponseHeaderBytesReceived
        responseBodyBytes = metrics.countOfResponseBodyBytesReceived
        decodedBodyBytes = metrics.countOfResponseBodyBytesAfterDecoding
    }
}

extension TransactionTimeline.Moments {
    init(_ metrics: URLSessionTaskTransactionMetrics, origin: Date) {
        self.init()
        func seconds(_ date: Date?) -> Double? { date.map { max(0, $0.timeIntervalSince(origin)) } }
        fetchStart = seconds(metrics.fetchStartDate)
        domainLookupStart = seconds(metrics.domainLookupStartDate)
        domainLookupEnd = seconds(metrics.domainLookupEndDate)
        connectStart = seconds(metrics.connectStartDate)
        secureConnectionStart = seconds(metrics.secureConnectionStartDate)
        secureConnectionEnd = seconds(metrics.secureConnectionEndDate)
        connectEnd = seconds(metrics.connectEndDate)
        requestStart = seconds(metrics.requestStartDate)
        requestEnd = seconds(metrics.requestEndDate)
        responseStart = seconds(metrics.responseStartDate)
        responseEnd = seconds(metrics.responseEndDate)
    }
}
