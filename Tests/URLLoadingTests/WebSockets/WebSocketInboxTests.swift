import LoadingPipeline
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

    // WS-7: resumed before the loop was notified of the suspension
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
        let left = inbox.takeMessage(for: .handler)
        #expect(left == nil)
    }

    // WS-17: the load is notified of each message that is taken while the end waits, and of none otherwise
    @Test("the end waits for unread messages", arguments: [true, false]) func awaitedEnd(isHeld: Bool) {
        var inbox = WebSocketInbox()
        inbox.keep(.string("before"), octets: 6)
        let before = inbox.takeMessage(for: .handler)
        #expect(before?.mustRead == false)
        var awaited = [inbox.awaitEnd()]
        #expect(awaited == [.nothing])

        inbox.isHeld = isHeld
        inbox.keep(.string("one"), octets: 3)
        inbox.keep(.string("two"), octets: 3)
        awaited = [inbox.awaitEnd()]
        var mustRead: [Bool?] = []
        if isHeld {
            let results = Results()
            mustRead = [inbox.wait(receiver("first", results)), inbox.wait(receiver("second", results))]
            let early = inbox.match()
            #expect(early == nil)
            inbox.isHeld = false
        }
        for _ in 0..<2 {
            mustRead.append(isHeld ? inbox.match()?.mustRead : inbox.takeMessage(for: .handler)?.mustRead)
            awaited.append(inbox.awaitEnd())
        }
        #expect(mustRead.allSatisfy { $0 == true })
        #expect(awaited == [.messages, .messages, .nothing])
        inbox.keep(.string("three"), octets: 5)
        let last = inbox.takeMessage(for: .handler)
        #expect(last?.mustRead == false)
    }

    // WS-17: also until the caller of an `async` method, which has the last message, asks for the next one
    @Test("the end waits for a caller that resumes", arguments: [true, false]) func awaitedCaller(isWaiting: Bool) {
        var inbox = WebSocketInbox()
        let caller = WebSocketInbox.Receiver(caller: .continuation, isPromised: false) { _ in }
        if isWaiting {
            inbox.wait(caller)
            let receiver = inbox.takeReceiver(isHeld: false)
            #expect(receiver != nil)
        } else {
            inbox.keep(.string("one"), octets: 3)
            let taken = inbox.takeMessage(for: .continuation)
            #expect(taken != nil)
        }
        let first = inbox.awaitEnd()
        let mustNotify = inbox.wait(caller)
        let second = inbox.awaitEnd()
        #expect(first == .caller && mustNotify && second == .nothing)
        // Two callers wait, of which one gets the last message.
        inbox.wait(caller)
        _ = inbox.takeReceiver(isHeld: false)
        let third = inbox.awaitEnd()
        #expect(third == .nothing)
    }
}
