import Testing
import URLSessionCommandCore

/// The waterfall: phases from moments (MET-2 to MET-6), bars from phases.
@Suite struct WaterfallTests {
    private let plain = Waterfall(style: TextStyle(isColored: false), isUTF8: true, columns: 64)
    private let ascii = Waterfall(style: TextStyle(isColored: false), isUTF8: false, columns: 64)

    private var secure: TransactionTimeline.Moments {
        var moments = TransactionTimeline.Moments()
        moments.fetchStart = 0
        moments.domainLookupStart = 0
        moments.domainLookupEnd = 0.010
        moments.connectStart = 0.010
        moments.secureConnectionStart = 0.020
        moments.secureConnectionEnd = 0.040
        moments.connectEnd = 0.040
        moments.requestStart = 0.040
        moments.requestEnd = 0.0405
        moments.responseStart = 0.070
        moments.responseEnd = 0.080
        return moments
    }

    // MET-2, MET-5, MET-6
    @Test func phasesOfASecureLoad() {
        #expect(
            secure.phases == [
                .init(.queued, 0, 0), .init(.dns, 0, 0.010), .init(.connect, 0.010, 0.020), .init(.tls, 0.020, 0.040),
                .init(.request, 0.040, 0.0405), .init(.wait, 0.0405, 0.070), .init(.response, 0.070, 0.080),
            ])
    }

    // MET-3
    @Test func aReusedConnectionHasNoConnectionPhases() {
        var moments = TransactionTimeline.Moments()
        moments.fetchStart = 1
        moments.requestStart = 1.5
        moments.requestEnd = 1.5
        moments.responseStart = 2
        moments.responseEnd = 3
        #expect(
            moments.phases == [
                .init(.queued, 1, 1.5), .init(.request, 1.5, 1.5), .init(.wait, 1.5, 2), .init(.response, 2, 3),
            ])
    }

    // MET-4
    @Test func anUnfinishedPhaseIsTheLast() {
        var moments = TransactionTimeline.Moments()
        moments.fetchStart = 0
        moments.connectStart = 0.1
        #expect(moments.phases == [.init(.queued, 0, 0.1), .init(.connect, 0.1, nil)])
    }

    @Test func anEarlyAnswerLeavesNoNegativeWait() {
        var moments = TransactionTimeline.Moments()
        moments.fetchStart = 0
        moments.requestStart = 0
        moments.requestEnd = 2
        moments.responseStart = 1
        moments.responseEnd = 3
        #expect(moments.phases.map(\.duration) == [0, 2, 0, 2])
    }

    @Test func bars() {
        var timeline = TransactionTimeline(method: "GET", url: "https://h/", status: 200, phases: secure.phases)
        timeline.protocolName = "http/1.1"
        timeline.remoteAddress = "192.0.2.1:443"
        timeline.tls = "TLS 1.3, TLS_AES_128_GCM_SHA256"
        timeline.requestHeaderBytes = 120
        timeline.responseHeaderBytes = 300
        timeline.responseBodyBytes = 2048
        timeline.decodedBodyBytes = 10_240
        #expect(
            plain.lines([timeline], duration: 0.080) == [
                "GET https://h/ 200",
                "  http/1.1, 192.0.2.1:443, TLS 1.3, TLS_AES_128_GCM_SHA256, new connection",
                "  DNS      █████                                        10.00 ms",
                "  connect       █████                                   10.00 ms",
                "  TLS                ██████████                         20.00 ms",
                "  request                      ▌                         0.50 ms",
                "  wait                         ███████████████          29.50 ms",
                "  response                                    █████     10.00 ms",
                "  sent 120 B + 0 B, received 300 B + 2.00 KiB (10.0 KiB decoded)",
            ])
        #expect(
            ascii.lines([timeline], duration: 0.080)[2...7] == [
                "  DNS      =====                                        10.00 ms",
                "  connect       =====                                   10.00 ms",
                "  TLS                ==========                         20.00 ms",
                "  request                      |                         0.50 ms",
                "  wait                         ===============          29.50 ms",
                "  response                                    =====     10.00 ms",
            ])
    }

    @Test func halfCells() {
        let timeline = TransactionTimeline(
            method: "GET", url: "http://h/",
            phases: [.init(.wait, 0.0125, 0.0625), .init(.response, 0.0625, 0.0875)])
        // 40 cells of 2.5 ms.
        #expect(
            plain.lines([timeline], duration: 0.1)[2...3].map { $0.prefix(51) } == [
                "  wait          ████████████████████               ",
                "  response                          ██████████     ",
            ])
        let odd = TransactionTimeline(method: "GET", url: "http://h/", phases: [.init(.wait, 0.00125, 0.00875)])
        #expect(plain.lines([odd], duration: 0.1)[2].hasPrefix("  wait     ▐██▌ "))
    }

    @Test func severalTransactionsShareTheAxis() {
        let first = TransactionTimeline(
            method: "POST", url: "http://h/a", status: 302, phases: [.init(.response, 0, 0.5)])
        var second = TransactionTimeline(
            method: "GET", url: "http://h/b", status: 200, phases: [.init(.response, 0.5, 1)])
        second.remoteAddress = "192.0.2.1:80"
        second.isReusedConnection = true
        second.isProxyConnection = true
        #expect(
            ascii.lines([first, second], duration: 1) == [
                "POST http://h/a 302",
                "  no connection",
                "  response ====================                        500.00 ms",
                "  sent 0 B + 0 B, received 0 B + 0 B",
                "GET http://h/b 200",
                "  through proxy 192.0.2.1:80, reused",
                "  response                     ====================    500.00 ms",
                "  sent 0 B + 0 B, received 0 B + 0 B",
            ])
    }

    // MET-4, MET-16
    @Test func aPhaseThatNeverEndedRunsToTheEnd() {
        let timeline = TransactionTimeline(
            method: "GET", url: "http://h/", phases: [.init(.connect, 0.5, nil)])
        #expect(
            ascii.lines([timeline], duration: 1)[2]
                == "  connect                      ==================== not finished"
        )
    }

    // MET-14
    @Test func fromTheCache() {
        var timeline = TransactionTimeline(
            method: "GET", url: "http://h/", status: 200, phases: [.init(.response, 0, 0.001)])
        timeline.isFromCache = true
        #expect(ascii.lines([timeline], duration: 0.001).count == 3)
        #expect(ascii.lines([timeline], duration: 0.001)[1] == "  from the cache")
    }

    @Test func colors() {
        let colored = Waterfall(style: TextStyle(isColored: true), isUTF8: false, columns: 64)
        let timeline = TransactionTimeline(method: "GET", url: "http://h/", phases: [.init(.dns, 0, 1)])
        #expect(
            colored.lines([timeline], duration: 1)[2]
                == "  DNS      \u{1B}[36m========================================\u{1B}[0m   1000.00 ms")
    }

    @Test func strangeNumbersDoNotTrap() {
        let timeline = TransactionTimeline(
            method: "GET", url: "http://h/",
            phases: [.init(.dns, 5, 5), .init(.wait, 0, 1e300), .init(.response, .infinity, .nan)])
        #expect(plain.lines([timeline], duration: 0).count == 6)
    }

    // MET-10
    @Test(arguments: [(0x0303, "TLS 1.2"), (0x0304, "TLS 1.3"), (0x0999, "TLS 0x0999")] as [(UInt16, String)])
    func versions(_ number: UInt16, _ name: String) {
        #expect(TLSName.version(number) == name)
    }

    // MET-10
    @Test(
        arguments: [
            (0x1301, "TLS_AES_128_GCM_SHA256"), (0xC02F, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"),
            (0x00FF, "cipher suite 0x00FF"),
        ] as [(UInt16, String)])
    func suites(_ number: UInt16, _ name: String) {
        #expect(TLSName.cipherSuite(number) == name)
    }
}
