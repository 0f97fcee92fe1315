import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// A client with a receive loop that asks again in its own handler, as most are written.
private class Connection: NSObject, URLSessionWebSocketDelegate {
    var onText: ((String) -> Void)?
    var onEnd: ((URLSessionWebSocketTask.CloseCode, String?) -> Void)?
    private lazy var session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
    private var task: URLSessionWebSocketTask?

    func connect(to url: URL) {
        let task = session.webSocketTask(with: url, protocols: ["chat"])
        self.task = task
        task.resume()
        listen()
    }

    private func listen() {
        task?.receive { [weak self] result in
            switch result {
            case .success(.string(let text)):
                self?.onText?(text)
                self?.listen()
            case .success(.data(let data)):
                self?.onText?("\(data.count) bytes")
                self?.listen()
            case .success:
                break
            case .failure:
                break
            }
        }
    }

    func send(_ text: String) {
        task?.send(.string(text)) { error in
            if let error = error { print(error) }
        }
    }

    func ping(_ done: @escaping (Error?) -> Void) { task?.sendPing(pongReceiveHandler: done) }

    func disconnect() { task?.cancel(with: .goingAway, reason: "bye".data(using: .utf8)) }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        onText?("open \(`protocol` ?? "without")")
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        switch closeCode {
        case .normalClosure, .goingAway: onEnd?(closeCode, reason.flatMap { String(data: $0, encoding: .utf8) })
        default: onEnd?(.invalid, nil)
        }
        session.finishTasksAndInvalidate()
    }
}

@Suite struct WebSocketTests {
    @Test("a client with handlers") func handlers() throws {
        let server = try ScriptedServer.webSocketEcho(answer: { .firstSubprotocol(of: $0) })
        defer { server.stop() }
        let connection = Connection()
        let texts = EventRecorder<String>()
        let ends = EventRecorder<String>()
        connection.onText = { texts.record($0) }
        connection.onEnd = { ends.record("\($0.rawValue) \($1 ?? "")") }
        connection.connect(to: server.webSocketURL())
        connection.send("hello")
        try texts.wait(for: "hello")
        let pong = Signal("the pong")
        connection.ping { if $0 == nil { pong.fire() } }
        try pong.wait()
        connection.disconnect()
        try ends.wait(for: "1001 ")
        #expect(texts.events == ["open chat", "hello"])
    }
}
