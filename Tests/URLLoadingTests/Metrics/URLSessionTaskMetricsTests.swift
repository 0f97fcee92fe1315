import Foundation
import LoadingEvents
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

    /// An event log of two requests, one of them over a multipath connection, at intervals of seconds from `start`.
    private func log(from start: Int64) -> EventLog {
        let log = EventLog()
        func record(_ second: Int64, _ kind: LoadEvent.Kind) { log.record(kind, at: start + second * 1_000_000_000) }
        func facts(isMultipath: Bool) -> ConnectionFacts {
            var facts = ConnectionFacts(
                protocolName: "http/1.1", isReused: isMultipath, isProxied: false, localAddress: nil, localPort: nil,
                remoteAddress: nil, remotePort: nil, tlsVersion: nil, tlsCipherSuite: nil)
            facts.isMultipath = isMultipath
            return facts
        }
        record(0, .fetchStarted(.first))
        record(1, .resolutionStarted(host: "example.com"))
        record(2, .resolutionEnded(addresses: 1))
        record(3, .connectStarted(address: "127.0.0.1"))
        record(4, .connectEnded)
        record(5, .secureConnectionStarted)
        record(6, .secureConnectionEnded(version: 0x0304, cipherSuite: 0x1301))
        record(7, .connectionAssigned(facts(isMultipath: false)))
        record(8, .requestStarted)
        record(9, .requestEnded(bytes: 0, content: 0))
        record(10, .responseStarted)
        record(11, .responseEnded(bytes: 0, decoded: 0))
        record(12, .fetchStarted(.redirect))
        record(13, .connectionAssigned(facts(isMultipath: true)))
        record(14, .requestStarted)
        record(15, .requestEnded(bytes: 0, content: 0))
        record(16, .responseStarted)
        record(17, .responseEnded(bytes: 0, decoded: 0))
        record(18, .ended)
        return log
    }

    /// The metrics of that log, with the given readings of the wall clock.
    private func metrics(from start: Int64, wall: () -> TimeInterval) -> URLSessionTaskMetrics {
        let fetch = URLSessionTaskMetrics.Fetch(request: request)
        return URLSessionTaskMetrics(log(from: start), created: start, fetches: [fetch, fetch], wall: wall)
    }

    // MET-19: the wall's clock is looked at once a task, so one that jumps moves all dates by as much
    @Test("a wall clock that jumps", arguments: [-1e9, -3_600, 0, 86_400, 1e9]) func wallClock(jump: TimeInterval) {
        var looks = 0
        var time = 7e8 + jump
        let start = EventLog.now - 20_000_000_000
        let metrics = metrics(from: start) {
            looks += 1
            defer { time -= 3_600 }
            return time
        }
        #expect(looks == 1)
        let first = metrics.transactionMetrics[0]
        let second = metrics.transactionMetrics[1]
        let dates = [
            first.fetchStartDate, first.domainLookupStartDate, first.domainLookupEndDate, first.connectStartDate,
            first.secureConnectionStartDate, first.secureConnectionEndDate, first.connectEndDate,
            first.requestStartDate, first.requestEndDate, first.responseStartDate, first.responseEndDate,
            second.fetchStartDate, second.requestStartDate, second.requestEndDate, second.responseStartDate,
            second.responseEndDate, metrics.taskInterval.end,
        ]
        let begin = metrics.taskInterval.start
        // Below a second nothing of a double is left at such times but microseconds.
        #expect(
            dates.map { $0.map { ($0.timeIntervalSince(begin)).rounded() } }
                == [0, 1, 2, 3, 5, 6, 6, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18])
        #expect(metrics.taskInterval.duration.rounded() == 18)
        // The task was made twenty seconds before that look, and a moment.
        let age = 7e8 + jump - begin.timeIntervalSinceReferenceDate
        #expect(age >= 20 && age < 80)
    }

    // MET-12: unknown properties are false on Linux
    @Test("whether a connection uses several paths") func networks() {
        let metrics = metrics(from: EventLog.now) { 0 }
        #expect(metrics.transactionMetrics.map(\.isMultipath) == [false, true])
        #expect(metrics.transactionMetrics.map(\.isCellular) == [false, false])
        #expect(metrics.transactionMetrics.map(\.isExpensive) == [false, false])
        #expect(metrics.transactionMetrics.map(\.isConstrained) == [false, false])
    }

    // MET-13, MET-14
    @Test func numbers() {
        typealias Resolution = URLSessionTaskMetrics.DomainResolutionProtocol
        typealias Fetch = URLSessionTaskMetrics.ResourceFetchType
        #expect([Resolution.unknown, .udp, .tcp, .tls, .https].map(\.rawValue) == [0, 1, 2, 3, 4])
        #expect([Fetch.unknown, .networkLoad, .serverPush, .localCache].map(\.rawValue) == [0, 1, 2, 3])
    }
}
