import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// As packages have it for Linux, because the toolchain's module has neither the method nor its type.
extension URLSession {
    fileprivate struct AsyncBytes: AsyncSequence {
        typealias Element = UInt8

        struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var bytes: Data.Iterator

            mutating func next() async throws -> UInt8? { bytes.next() }
        }

        let data: Data

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: data.makeIterator()) }
    }

    fileprivate func bytes(for request: URLRequest) async throws -> (AsyncBytes, URLResponse) {
        let (data, response) = try await data(for: request)
        return (AsyncBytes(data: data), response)
    }
}

/// As programs name what Apple's API does not have, and this library has too.
extension URLSessionTask {
    fileprivate enum Status: Sendable { case waiting, underway, done }

    fileprivate var status: Status {
        switch state {
        case .suspended: .waiting
        case .completed: .done
        default: .underway
        }
    }

    fileprivate var statusUpdates: [Status] { [status] }
}

extension URLSessionWebSocketTask {
    fileprivate typealias Messages = AsyncThrowingStream<Message, any Error>

    fileprivate var messages: Messages {
        Messages { continuation in
            receive { result in
                continuation.yield(with: result)
                continuation.finish()
            }
        }
    }

    fileprivate var pingInterval: Int { 30 }
}

private struct Connection {
    let messages: URLSessionWebSocketTask.Messages
    let status: URLSessionTask.Status
}

private struct LineReader {
    let bytes: URLSession.AsyncBytes

    func lines() async throws -> [String] {
        var lines: [String] = []
        for try await line in bytes.lines { lines.append(line) }
        return lines
    }
}

@Suite struct NestedTypeTests {
    // T-58
    @Test("a type that a program nests in URLSession has precedence") func aNestedType() async throws {
        let server = try ScriptedServer.answering(.text("one\ntwo"))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        let (bytes, _) = try await session.bytes(for: URLRequest(url: server.url()))
        #expect(bytes.data == Data("one\ntwo".utf8))
        #expect(try await LineReader(bytes: bytes).lines() == ["one", "two"])
        session.invalidateAndCancel()
    }

    // T-10, WS-15
    @Test("names that a program gives to tasks have precedence over additions to Apple's")
    func namesOfAdditions() async throws {
        let session = URLSession(configuration: .ephemeral)
        let url = try #require(URL(string: "ws://127.0.0.1:1/"))
        let task = session.webSocketTask(with: url)
        let connection = Connection(messages: task.messages, status: task.status)
        #expect(connection.status == .waiting)
        #expect(task.statusUpdates == [.waiting])
        #expect(task.pingInterval == 30)
        task.cancel()
        await #expect(throws: (any Error).self) {
            for try await _ in connection.messages {}
        }
        session.invalidateAndCancel()
    }
}
