import LoadingSemantics
import Testing

@testable import URLLoading

/// The order of unread messages and waiting calls of `receive`, when a task is suspended and resumed while messages
/// come.
@Suite struct WebSocketInboxTests {
    private func receiver(_ name: String, _ results: Results) -> WebSocketInbox.Receiver {
        WebSocketInbox.Receiver(caller: .handler, isPromised: false) { result in
            guard case .success(.string(let text)) = result else { return results.all.append("\(name): failed") }
            results.all.append("\(name): \(text)")
        }
    }

    private func arrive(_ text: String, at inbox: inout WebSocketInbox, isHeld: Bool) {
        if let receiver = inbox.takeReceiver(isHeld: isHeld) {
            receiver.handler(.success(.string(text)))
        } else {
            inbox.keep(.string(text), octets: text.utf8.count)
        }
    }

    private final class Results: @unchecked Sendable {
        // Sendable because one thread uses it.
        var all: [String] = []
    }

    // WS-7: resumed before the loop has heard of the suspension
    @Test("a message that was held comes before the next one") func order() {
        let results = Results()
        var inbox = WebSocketInbox()
        inbox.wait(receiver("first", results))
        inbox.wait(receiver("second", results))
        for (text, isHeld) in [("one", true), ("two", false)] {
            arrive(text, at: &inbox, isHeld: isHeld)
        }
        while let next = inbox.match() { next.receiver.handler(.success(next.message)) }
        #expect(results.all == ["first: one", "second: two"])
        inbox.wait(receiver("third", results))
        arrive("three", at: &inbox, isHeld: false)
        #expect(results.all.last == "third: three")
    }

    // WS-11: the connection ends while the task is suspended
    @Test("messages that were held at the end answer the calls that wait", arguments: [true, false])
    func end(isHeld: Bool) {
        let results = Results()
        var inbox = WebSocketInbox()
        inbox.isHeld = isHeld
        inbox.wait(receiver("first", results))
        inbox.wait(receiver("second", results))
        arrive("one", at: &inbox, isHeld: true)
        #expect(results.all.isEmpty)
        var (answered, failed) = inbox.end(.networkConnectionLost)
        for (receiver, message) in answered { receiver.handler(.success(message)) }
        while let receiver = failed.popFirst() { receiver.handler(.failure(CancellationError())) }
        #expect(results.all == ["first: one", "second: failed"])
        let left = inbox.takeMessage()
        #expect(left == nil)
    }

    // WS-17: the load hears of each message that is taken while the end waits, and of none otherwise
    @Test("the end waits for unread messages", arguments: [true, false]) func awaitedEnd(isHeld: Bool) {
        var inbox = WebSocketInbox()
        var answers: [Bool?] = []
        inbox.keep(.string("before"), octets: 6)
        answers.append(inbox.takeMessage()?.mustRead)
        answers.append(inbox.awaitEnd())
        #expect(answers == [false, false])

        answers = []
        inbox.isHeld = isHeld
        inbox.keep(.string("one"), octets: 3)
        inbox.keep(.string("two"), octets: 3)
        answers.append(inbox.awaitEnd())
        if isHeld {
            let results = Results()
            inbox.wait(receiver("first", results))
            inbox.wait(receiver("second", results))
            let early = inbox.match()
            #expect(early == nil)
            inbox.isHeld = false
        }
        for _ in 0..<2 {
            answers.append(isHeld ? inbox.match()?.mustRead : inbox.takeMessage()?.mustRead)
            answers.append(inbox.awaitEnd())
        }
        #expect(answers == [true, true, true, true, false])
        inbox.keep(.string("three"), octets: 5)
        let last = inbox.takeMessage()
        #expect(last?.mustRead == false)
    }
}
