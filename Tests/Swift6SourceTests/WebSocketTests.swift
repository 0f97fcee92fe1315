import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// An actor around a task, with a stream of its messages.
private actor Chat {
    private let task: URLSessionWebSocketTask

    init(_ url: URL, in session: URLSession) {
        var request = URLRequest(url: url)
        request.setValue("secret", forHTTPHeaderField: "X-Token")
        task = session.webSocketTask(with: request)
        task.maximumMessageSize = 16 * 1024
        task.resume()
    }

    nonisolated var messages: AsyncThrowingStream<String, any Error> {
        let task = task
        return AsyncThrowingStream { continuation in
            Task {
                do {
                    while task.closeCode == .invalid {
                        switch try await task.receive() {
                        case .string(let text): continuation.yield(text)
                        case .data(let data): continuation.yield("\(data.count) bytes")
                        @unknown default: continuation.finish()
                        }
                    }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
        }
    }

    func say(_ text: String) async throws { try await task.send(.string(text)) }

    func leave() { task.cancel(with: .normalClosure, reason: nil) }
}

@Suite struct WebSocketTests {
    @Test("an actor with a stream of messages") func actor() async throws {
        let server = try ScriptedServer.webSocketEcho()
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        let chat = Chat(server.webSocketURL(), in: session)
        try await chat.say("one")
        try await chat.say("two")
        var seen: [String] = []
        for try await text in chat.messages {
            seen.append(text)
            if text == "two" { break }
        }
        #expect(seen == ["one", "two"])
        await chat.leave()
        session.finishTasksAndInvalidate()
        #expect(server.requests.first?["X-Token"] == "secret")
    }
}
