import Foundation
import TestSupport
import Testing
import URLLoading

/// A session whose WebSocket tasks take one path.
struct WebSocketPathRun: Sendable {
    private let path: WebSocketPath
    private let farm: WebSocketFarm
    private let session: URLSession
    private let delegate = MetricsRecorder()

    /// The versions of HTTP that the session's tasks have used.
    private final class MetricsRecorder: NSObject, URLSessionTaskDelegate {
        let names = EventRecorder<String?>()
        let ended = Signal("the end of the session")

        func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { ended.fire() }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            for transaction in metrics.transactionMetrics { names.record(transaction.networkProtocolName) }
        }
    }

    /// Opens the connection that WebSockets share, where they do.
    init(_ path: WebSocketPath, in farm: WebSocketFarm) async throws {
        self.path = path
        self.farm = farm
        let configuration = URLSessionConfiguration.ephemeral
        configuration.enablesWebSocketCompression = path.isCompressed
        if let proxy = try farm.proxy(of: path.route) { configuration.proxyConfigurations = [proxy] }
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        if let request = try farm.firstRequest(of: path) { _ = try await session.data(for: request) }
    }

    func open(_ name: String = "/echo", subprotocols: [String]? = nil) throws -> URLSessionWebSocketTask {
        let address = try farm.address(of: path, name)
        let task = session.webSocketTask(with: address.url, protocols: subprotocols ?? address.subprotocols)
        task.maximumMessageSize = 64 << 20
        task.resume()
        return task
    }

    /// Waits for the end of all tasks, and checks that they have used the path's version.
    func end() async throws {
        session.finishTasksAndInvalidate()
        try await delegate.ended.wait()
        #expect(Set(delegate.names.events) == [path.version.protocolName])
    }

    // MARK: Messages

    private static let sizes = [0, 1, 2, 124, 125, 126, 127, 128, 65_534, 65_535, 65_536, 65_537]
    private static let large = 16 << 20

    /// Text of a number of octets. Most of its characters have two, so cuts are within them.
    private func text(_ count: Int) -> String {
        // The mirror of libwebsockets cuts anywhere, and makes each piece a text.
        guard path.can(.wholeMessages) else { return String(repeating: "x", count: count) }
        let line = "aéà𐀀ß ü"
        return String(repeating: line, count: count / line.utf8.count)
            + String(repeating: "x", count: count % line.utf8.count)
    }

    /// The messages of a size that the server can send back.
    private func messages(_ size: Int) -> [URLSessionWebSocketTask.Message] {
        (path.can(.text) ? [.string(text(size))] : [])
            + (path.can(.binary) ? [.data(Data([UInt8].pattern(count: size)))] : [])
    }

    private func expectEcho(
        of message: WebSocketMessage, from task: URLSessionWebSocketTask, _ what: String
    ) async throws {
        var echo = try await task.receive().message
        if !path.can(.wholeMessages) {
            while echo.payload.count < message.payload.count {
                echo = .text(echo.payload + (try await task.receive().message).payload)
            }
        }
        // Without the content of a large message in a report, and quickly.
        let isSame = echo.opcode == message.opcode && Data(echo.payload) == Data(message.payload)
        #expect(isSame, "\(message.payload.count) octets, \(what): \(echo.payload.count) octets")
    }

    /// Echoes of each size, whole and in fragments, and pings between them.
    func echoes() async throws {
        let task = try open()
        for size in Self.sizes {
            for message in messages(size) {
                try await task.send(message)
                try await expectEcho(of: message.message, from: task, "whole")
                try await task.send(message, inFragments: 3)
                try await expectEcho(of: message.message, from: task, "in fragments")
            }
            try await task.ping()
        }
        try await cancel(task)
    }

    private func cancel(_ task: URLSessionWebSocketTask) async throws {
        task.cancel()
        let error = await #expect(throws: URLError.self) { try await task.receive() }
        #expect(error?.code == .cancelled)
    }

    /// Sent while it is received, because the server may send before it has received all.
    func largeEcho() async throws {
        let task = try open()
        let message = try #require(messages(Self.large).last)
        async let isSent: Void = task.send(message)
        try await expectEcho(of: message.message, from: task, "large")
        try await isSent
        try await cancel(task)
    }

    func fragmentsOfServer() async throws {
        for size in [1, 100, 65_536] {
            let task = try open("/fragments/\(size)")
            for count in [0, 1, size - 1, size, size + 1, 3 * size + 1] {
                for message in messages(count) {
                    try await task.send(message)
                    try await expectEcho(of: message.message, from: task, "in fragments of \(size)")
                }
            }
            try await cancel(task)
        }
    }

    // MARK: Closing

    func clientCloses() async throws {
        for code in [1000, 1001, 3000, 4999] {
            let task = try open()
            try await task.send(.string("there"))
            _ = try await task.receive()
            task.cancel(with: try #require(.init(rawValue: code)), reason: Data("bye".utf8))
            try await expectEnd(of: task, code: code, reason: path.can(.confirmsReason) ? "bye" : nil)
        }
    }

    func serverCloses() async throws {
        for code in [1000, 1001, 1011, 3000, 4999] {
            let task = try open("/close/\(code)/enough")
            try await task.send(.string("now"))
            try await expectEnd(of: task, code: code, reason: "enough")
        }
    }

    /// - Parameter reason: Nil for any.
    private func expectEnd(of task: URLSessionWebSocketTask, code: Int, reason: String?) async throws {
        let error = await #expect(throws: (any Error).self) { try await task.receive() }
        #expect((error as? NSError)?.domain == NSPOSIXErrorDomain && (error as? NSError)?.code == Int(ENOTCONN))
        #expect(task.closeCode.rawValue == code)
        if let reason { #expect(task.closeReason == Data(reason.utf8)) }
        #expect(task.error == nil)
    }

    func drops() async throws {
        let task = try open("/drop")
        try await task.send(.string("now"))
        let error = await #expect(throws: URLError.self) { try await task.receive() }
        #expect(error?.code == .networkConnectionLost)
        #expect(task.closeCode == .abnormalClosure)
    }
}

extension URLSessionWebSocketTask {
    func ping() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            sendPing { error in
                if let error { continuation.resume(throwing: error) } else { continuation.resume() }
            }
        }
    }

    /// Sends a message in fragments of about the same length, as far as it has octets for them.
    func send(_ message: Message, inFragments count: Int) async throws {
        let octets = message.message.payload
        let length = max(1, (octets.count + count - 1) / count)
        let parts = stride(from: 0, to: octets.count, by: length).map {
            Data(octets[$0..<min($0 + length, octets.count)])
        }
        let isText = if case .string = message { true } else { false }
        try await send(
            contentsOf: AsyncStream { continuation in
                for part in parts { continuation.yield(part) }
                continuation.finish()
            }, asText: isText)
    }
}

extension URLSessionWebSocketTask.Message {
    /// The same in the tests' terms.
    var message: WebSocketMessage {
        switch self {
        case .string(let text): .text(text)
        case .data(let data): .binary(Array(data))
        @unknown default: .binary([])
        }
    }
}
