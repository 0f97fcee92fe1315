import Foundation
import Testing
import URLLoading
import URLSessionCommandCore

/// From `URLSessionTaskMetrics` to timelines and archive records.
@Suite struct MetricsTests {
    private func metrics() throws -> URLSessionTaskMetrics {
        let url = try #require(URL(string: "https://ann:pa55word@h/a"))
        let start = Date(timeIntervalSince1970: 1000)
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("1", forHTTPHeaderField: "X-B")
        request.setValue("2", forHTTPHeaderField: "x-a")
        var record = TransactionRecord()
        record.response = HTTPURLResponse(
            url: url, statusCode: 201, httpVersion: "HTTP/1.1", headerFields: ["Content-Type": "text/plain"])
        record.fetchStart = start + 0.5
        record.connectStart = start + 1
        record.secureConnectionStart = start + 2
        record.secureConnectionEnd = start + 3
        record.connectEnd = start + 3
        record.requestStart = start + 3
        record.requestEnd = start + 4
        record.responseStart = start + 6
        record.responseEnd = start + 8
        record.networkProtocolName = "http/1.1"
        record.isReusedConnection = false
        record.isProxyConnection = true
        record.resourceFetchType = .networkLoad
        record.remoteAddress = "2001:db8::1"
        record.remotePort = 443
        record.negotiatedTLSProtocolVersion = 0x0304
        record.negotiatedTLSCipherSuite = 0x1302
        record.requestHeaderBytesSent = 10
        record.requestBodyBytesSent = 20
        record.responseHeaderBytesReceived = 30
        record.responseBodyBytesReceived = 40
        record.responseBodyBytesAfterDecoding = 50
        return URLSessionTaskMetrics(
            transactionMetrics: [URLSessionTaskTransactionMetrics(request: request, record: record)],
            taskInterval: DateInterval(start: start, duration: 8), redirectCount: 0)
    }

    // MET-1, MET-2, MET-5 to MET-11
    @Test func timeline() throws {
        var expected = TransactionTimeline(
            method: "POST", url: "https://[redacted]@h/a", status: 201,
            phases: [
                .init(.queued, 0.5, 1), .init(.connect, 1, 2), .init(.tls, 2, 3), .init(.request, 3, 4),
                .init(.wait, 4, 6), .init(.response, 6, 8),
            ])
        expected.protocolName = "http/1.1"
        expected.remoteAddress = "[2001:db8::1]:443"
        expected.tls = "TLS 1.3, TLS_AES_256_GCM_SHA384"
        expected.isProxyConnection = true
        expected.requestHeaderBytes = 10
        expected.requestBodyBytes = 20
        expected.responseHeaderBytes = 30
        expected.responseBodyBytes = 40
        expected.decodedBodyBytes = 50
        #expect(TransactionTimeline.all(in: try metrics()) == [expected])
    }

    @Test func archiveRecord() throws {
        let metrics = try metrics()
        var expected = HARRecord(
            timeline: try #require(TransactionTimeline.all(in: metrics).first),
            start: Date(timeIntervalSince1970: 1000.5), url: "https://ann:pa55word@h/a")
        expected.requestFields = [("x-a", "2"), ("X-B", "1")]
        expected.responseFields = [("Content-Type", "text/plain")]
        expected.mimeType = metrics.transactionMetrics.first?.response?.mimeType
        #expect(HARRecord.all(in: metrics) == [expected])
    }
}
