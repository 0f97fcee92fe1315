import Foundation
import URLLoading

/// What the program does with one WebSocket: messages, whose echoes have to be equal and in order, pings, and a close.
final class WebSocketExchange: @unchecked Sendable {
    // Sendable because everything mutable is guarded by `lock`.
    let number: Int
    let clientCloses: Bool
    private let task: URLSessionWebSocketTask
    private let messages: [URLSessionWebSocketTask.Message]
    private let sendsAllAtOnce: Bool
    private let pings: Set<Int>
    private let willClose: () -> Void
    private let lock = NSLock()
    /// Handlers that have not been called.
    private var outstanding = 0
    private var received = 0

    /// - Parameter count: The server closes after so many messages unless the client does.
    init(
        _ number: Int, _ task: URLSessionWebSocketTask, count: Int, clientCloses: Bool, _ choices: Choices,
        willClose: @escaping () -> Void
    ) {
        (self.number, self.task, self.clientCloses, self.willClose) = (number, task, clientCloses, willClose)
        messages = (0..<count).map { index in
            let bytes = Content.bytes(number + index, 0..<choices.size(upTo: 100_000))
            guard choices.oneIn(2) else { return .data(Data(bytes)) }
            return .string(String(decoding: bytes.map { 0x20 + $0 % 0x5F }, as: UTF8.self))
        }
        sendsAllAtOnce = choices.oneIn(2)
        pings = Set((0..<count).filter { _ in choices.oneIn(4) })
    }

    var isQuiet: Bool { lock.withLock { outstanding == 0 } }
    var isComplete: Bool { lock.withLock { received == messages.count } }

    func begin() {
        if sendsAllAtOnce { for index in messages.indices { send(index) } }
        goOn(with: 0)
    }

    private func goOn(with index: Int) {
        guard index < messages.count else {
            guard clientCloses else { return }
            willClose()
            return task.cancel(with: .normalClosure, reason: Data("enough".utf8))
        }
        if !sendsAllAtOnce { send(index) }
        if pings.contains(index) { task.sendPing(pongReceiveHandler: handler("a ping") { _ in }) }
        let done = handler("a receive") { [self] (result: Result<URLSessionWebSocketTask.Message, any Error>) in
            guard case .success(let message) = result else { return }
            let isEqual =
                switch (message, messages[index]) {
                case (.data(let echo), .data(let sent)): echo == sent
                case (.string(let echo), .string(let sent)): echo == sent
                default: false
                }
            Law.require(isEqual, "message \(index) of WebSocket \(number) comes back as it was sent")
            lock.withLock { received += 1 }
            goOn(with: index + 1)
        }
        task.receive(completionHandler: done)
    }

    private func send(_ index: Int) { task.send(messages[index], completionHandler: handler("a send") { _ in }) }

    /// One that has to be called once.
    private func handler<Value>(
        _ what: String, _ body: @escaping @Sendable (Value) -> Void
    ) -> @Sendable (Value) -> Void {
        lock.withLock { outstanding += 1 }
        let calls = Calls()
        return { [self] value in
            lock.withLock {
                calls.count += 1
                outstanding -= 1
            }
            Law.require(calls.count == 1, "the handler of \(what) of WebSocket \(number) is called once")
            body(value)
        }
    }

    /// Guarded by the lock of the exchange.
    private final class Calls: @unchecked Sendable { var count = 0 }
}
