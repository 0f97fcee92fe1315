import LoadingProtocols
import LoadingSemantics
import Testing

@Suite("HTTP/1 exchange")
struct HTTP1ExchangeTests {
    private let second: UInt64 = 1_000_000_000

    @Test("requests without a body follow one another")
    func reuse() {
        var exchange = HTTP1Exchange()
        for _ in 0..<2 {
            #expect(exchange.isIdle)
            #expect(exchange.begin(body: .none) == .sendHead)
            #expect(!exchange.isIdle)
            #expect(exchange.begin(body: .none) == .wait)
            #expect(exchange.sentHead(at: 0) == .wait)
            #expect(exchange.receivedBytes() == .wait)
            #expect(exchange.receivedHead(status: 200) == .wait)
            #expect(exchange.receivedEnd(mayReuse: true, hasLeftover: false) == .finish(mayReuse: true))
        }
    }

    @Test("a body, then the response")
    func body() {
        var exchange = HTTP1Exchange()
        #expect(exchange.begin(body: .known(5)) == .sendHead)
        #expect(exchange.sentHead(at: 0) == .sendBody)
        #expect(exchange.sentBody() == .wait)
        #expect(exchange.receivedHead(status: 500) == .wait)
        #expect(exchange.receivedEnd(mayReuse: true, hasLeftover: false) == .finish(mayReuse: true))
    }

    @Test("the connection closes if either side says so, or if more came than the response")
    func close() {
        for (asksToClose, mayReuse, hasLeftover) in [(true, true, false), (false, false, false), (false, true, true)] {
            var exchange = HTTP1Exchange()
            #expect(exchange.begin(body: .none, asksToClose: asksToClose) == .sendHead)
            #expect(exchange.sentHead(at: 0) == .wait)
            #expect(exchange.receivedHead(status: 200) == .wait)
            #expect(exchange.receivedEnd(mayReuse: mayReuse, hasLeftover: hasLeftover) == .finish(mayReuse: false))
            #expect(!exchange.isIdle)
            #expect(exchange.begin(body: .none) == .wait)
        }
    }

    // CONN-23
    @Test("100 (Continue) lets the body go; other interim responses do not")
    func continueArrives() {
        var exchange = HTTP1Exchange()
        #expect(exchange.begin(body: .chunked, expectsContinue: true) == .sendHead)
        #expect(exchange.sentHead(at: 5) == .awaitContinue(until: second + 5))
        #expect(exchange.deadline == second + 5)
        #expect(exchange.receivedInformational(status: 103) == .wait)
        #expect(exchange.receivedInformational(status: 100) == .sendBody)
        #expect(exchange.deadline == nil)
        #expect(exchange.receivedInformational(status: 100) == .wait)
        #expect(exchange.deadlinePassed(at: second + 5) == .wait)
        #expect(exchange.sentBody() == .wait)
        #expect(exchange.receivedHead(status: 200) == .wait)
        #expect(exchange.receivedEnd(mayReuse: true, hasLeftover: false) == .finish(mayReuse: true))
    }

    // CONN-23
    @Test("after a second without an answer the body goes anyway")
    func continueNeverArrives() {
        var exchange = HTTP1Exchange()
        #expect(exchange.begin(body: .known(1), expectsContinue: true) == .sendHead)
        #expect(exchange.sentHead(at: 0) == .awaitContinue(until: second))
        #expect(exchange.deadlinePassed(at: second - 1) == .wait)
        #expect(exchange.deadlinePassed(at: second) == .sendBody)
        #expect(exchange.deadlinePassed(at: second) == .wait)
    }

    // CONN-23
    @Test("a final response instead of 100 (Continue): no body, and the connection closes", arguments: [200, 417])
    func continueRefused(status: Int) {
        var exchange = HTTP1Exchange()
        #expect(exchange.begin(body: .known(1), expectsContinue: true) == .sendHead)
        #expect(exchange.sentHead(at: 0) == .awaitContinue(until: second))
        #expect(exchange.receivedHead(status: status) == .stopSending)
        #expect(exchange.deadlinePassed(at: second) == .wait)
        #expect(exchange.receivedEnd(mayReuse: true, hasLeftover: false) == .finish(mayReuse: false))
    }

    @Test("Expect without a body waits for nothing", arguments: [HTTP1RequestBody.none, .known(0)])
    func expectWithoutBody(body: HTTP1RequestBody) {
        var exchange = HTTP1Exchange()
        #expect(exchange.begin(body: body, expectsContinue: true) == .sendHead)
        #expect(exchange.sentHead(at: 0) == .wait)
        #expect(exchange.deadline == nil)
    }

    @Test("a deadline beyond the end of time")
    func lateDeadline() {
        var exchange = HTTP1Exchange()
        #expect(exchange.begin(body: .chunked, expectsContinue: true) == .sendHead)
        #expect(exchange.sentHead(at: .max - 1) == .awaitContinue(until: .max))
    }

    @Test("a refusal in the middle of the body stops it", arguments: [302, 401, 413, 500])
    func earlyRefusal(status: Int) {
        var exchange = HTTP1Exchange()
        #expect(exchange.begin(body: .chunked) == .sendHead)
        #expect(exchange.sentHead(at: 0) == .sendBody)
        #expect(exchange.receivedHead(status: status) == .stopSending)
        #expect(exchange.sentBody() == .wait)
        #expect(exchange.receivedEnd(mayReuse: true, hasLeftover: false) == .finish(mayReuse: false))
    }

    @Test("a refusal before the whole head went out stops the request")
    func refusalDuringHead() {
        var exchange = HTTP1Exchange()
        #expect(exchange.begin(body: .known(1)) == .sendHead)
        exchange.sentBytes()
        #expect(exchange.receivedHead(status: 431) == .stopSending)
        #expect(exchange.sentHead(at: 0) == .wait)
        #expect(exchange.receivedEnd(mayReuse: true, hasLeftover: false) == .finish(mayReuse: false))
    }

    @Test("a 2xx in the middle of the body: both go on, and only a whole body saves the connection")
    func earlySuccess() {
        for isWhole in [true, false] {
            var exchange = HTTP1Exchange()
            #expect(exchange.begin(body: .chunked) == .sendHead)
            #expect(exchange.sentHead(at: 0) == .sendBody)
            #expect(exchange.receivedHead(status: 200) == .wait)
            if isWhole { #expect(exchange.sentBody() == .wait) }
            #expect(exchange.receivedEnd(mayReuse: true, hasLeftover: false) == .finish(mayReuse: isWhole))
        }
    }

    // CONN-10
    @Test("a failure tells how far the request had come")
    func failures() {
        var unsent = HTTP1Exchange()
        #expect(unsent.begin(body: .none) == .sendHead)
        #expect(unsent.failed() == .fail(.unsent))

        var unanswered = HTTP1Exchange()
        #expect(unanswered.begin(body: .none) == .sendHead)
        unanswered.sentBytes()
        #expect(unanswered.failed() == .fail(.sent))

        var answered = HTTP1Exchange()
        #expect(answered.begin(body: .none) == .sendHead)
        #expect(answered.sentHead(at: 0) == .wait)
        #expect(answered.receivedBytes() == .wait)
        #expect(answered.failed() == .fail(.answered))
        #expect(answered.failed() == .close)
        #expect(answered.begin(body: .none) == .wait)
    }

    // CONN-10
    @Test("each exchange counts for itself")
    func safetyIsPerExchange() {
        var exchange = HTTP1Exchange()
        #expect(exchange.begin(body: .none) == .sendHead)
        #expect(exchange.sentHead(at: 0) == .wait)
        #expect(exchange.receivedBytes() == .wait)
        #expect(exchange.receivedHead(status: 204) == .wait)
        #expect(exchange.receivedEnd(mayReuse: true, hasLeftover: false) == .finish(mayReuse: true))
        #expect(exchange.begin(body: .none) == .sendHead)
        #expect(exchange.progress == .unsent)
    }

    @Test("bytes or an end while idle close the connection")
    func idle() {
        var surprised = HTTP1Exchange()
        #expect(surprised.receivedBytes() == .close)
        #expect(surprised.begin(body: .none) == .wait)
        var ended = HTTP1Exchange()
        #expect(ended.failed() == .close)
        #expect(ended.begin(body: .none) == .wait)
    }

    // T-54
    @Test("a protocol switch hands the connection over")
    func handOver() {
        var exchange = HTTP1Exchange()
        #expect(exchange.begin(body: .none) == .sendHead)
        #expect(exchange.sentHead(at: 0) == .wait)
        #expect(exchange.receivedSwitch() == .handOver)
        #expect(!exchange.isIdle)
    }

    @Test("calls out of turn change nothing")
    func outOfTurn() {
        var exchange = HTTP1Exchange()
        let idle = exchange
        #expect(exchange.sentHead(at: 0) == .wait)
        #expect(exchange.sentBody() == .wait)
        #expect(exchange.deadlinePassed(at: 0) == .wait)
        #expect(exchange.receivedInformational(status: 100) == .wait)
        #expect(exchange.receivedHead(status: 200) == .wait)
        #expect(exchange.receivedEnd(mayReuse: true, hasLeftover: false) == .wait)
        #expect(exchange.receivedSwitch() == .wait)
        #expect(exchange == idle)
    }
}
