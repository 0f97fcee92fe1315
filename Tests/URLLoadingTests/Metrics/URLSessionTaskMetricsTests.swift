import Foundation
import Testing

@testable import URLLoading

@Suite struct URLSessionTaskMetricsTests {
    let request = URLRequest(url: URL(string: "https://example.com/")!)

    // MET-3, MET-5: what did not happen has no date and counts nothing.
    @Test func emptyRecord() {
        let metrics = URLSessionTaskTransactionMetrics(request: request, record: TransactionRecord())
        #expect(metrics.request == request)
        #expect(metrics.response == nil)
        #expect(
            [
                metrics.fetchStartDate, metrics.domainLookupStartDate, metrics.domainLookupEndDate,
                metrics.connectStartDate, metrics.secureConnectionStartDate, metrics.secureConnectionEndDate,
                metrics.connectEndDate, metrics.requestStartDate, metrics.requestEndDate, metrics.responseStartDate,
                metrics.responseEndDate,
            ].allSatisfy { $0 == nil })
        #expect(metrics.resourceFetchType == .unknown)
        #expect(metrics.domainResolutionProtocol == .unknown)
        #expect(metrics.countOfResponseBodyBytesReceived == 0)
        #expect(metrics.negotiatedTLSProtocolVersion == nil)
        #expect(!metrics.isReusedConnection && !metrics.isProxyConnection && !metrics.isCellular)
    }

    // MET-1, MET-7, MET-10, MET-11
    @Test func valuesPassThrough() {
        var record = TransactionRecord()
        record.networkProtocolName = "h2"
        record.negotiatedTLSProtocolVersion = 0x0304
        record.negotiatedTLSCipherSuite = 0x1301
        record.responseBodyBytesReceived = 10
        record.responseBodyBytesAfterDecoding = 30
        record.resourceFetchType = .networkLoad
        record.isReusedConnection = true
        record.remotePort = 443
        let transaction = URLSessionTaskTransactionMetrics(request: request, record: record)
        let interval = DateInterval(start: Date(timeIntervalSince1970: 1), duration: 2)
        let metrics = URLSessionTaskMetrics(
            transactionMetrics: [transaction], taskInterval: interval, redirectCount: 3)
        #expect(metrics.transactionMetrics == [transaction])
        #expect(metrics.taskInterval == interval)
        #expect(metrics.redirectCount == 3)
        #expect(transaction.networkProtocolName == "h2")
        #expect(transaction.negotiatedTLSProtocolVersion == .TLSv13)
        #expect(transaction.negotiatedTLSCipherSuite == .AES_128_GCM_SHA256)
        #expect(transaction.countOfResponseBodyBytesReceived == 10)
        #expect(transaction.countOfResponseBodyBytesAfterDecoding == 30)
        #expect(transaction.isReusedConnection)
        #expect(transaction.remotePort == 443)
    }

    // MET-13, MET-14
    @Test func numbers() {
        typealias Resolution = URLSessionTaskMetrics.DomainResolutionProtocol
        typealias Fetch = URLSessionTaskMetrics.ResourceFetchType
        #expect([Resolution.unknown, .udp, .tcp, .tls, .https].map(\.rawValue) == [0, 1, 2, 3, 4])
        #expect([Fetch.unknown, .networkLoad, .serverPush, .localCache].map(\.rawValue) == [0, 1, 2, 3])
    }
}
