import Foundation
import TestSupport
import Testing
import URLLoading

/// The frames of RFC 6455, valid and not, against a client that sends every message back.
///
/// One connection a row. There are no rows for permessage-deflate (RFC 7692), because it is not offered (WS-15): RSV1
/// is an error here.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct WebSocketConformanceTests {
    // WS-7, WS-14, RFC 6455 §5.2, §5.6
    @Test("framing", arguments: WebSocketRow.framing) func framing(row: WebSocketRow) async throws {
        try await run(row)
    }

    // WS-14, RFC 6455 §5.1, §5.2
    @Test("invalid headers", arguments: WebSocketRow.invalidHeaders) func invalidHeaders(row: WebSocketRow) async throws
    {
        try await run(row)
    }

    // WS-14, WS-15, RFC 6455 §5.2
    @Test("reserved bits", arguments: WebSocketRow.reservedBits) func reservedBits(row: WebSocketRow) async throws {
        try await run(row)
    }

    // WS-14, RFC 6455 §5.2
    @Test("reserved opcodes", arguments: WebSocketRow.reservedOpcodes)
    func reservedOpcodes(row: WebSocketRow) async throws { try await run(row) }

    // WS-9, WS-14, RFC 6455 §5.5
    @Test("pings and pongs", arguments: WebSocketRow.control) func control(row: WebSocketRow) async throws {
        try await run(row)
    }

    // WS-7, RFC 6455 §5.4
    @Test("fragments", arguments: WebSocketRow.fragments) func fragments(row: WebSocketRow) async throws {
        try await run(row)
    }

    // WS-14, RFC 6455 §5.4
    @Test("fragments in a wrong order", arguments: WebSocketRow.fragmentOrder)
    func fragmentOrder(row: WebSocketRow) async throws { try await run(row) }

    // WS-7, RFC 6455 §5.6
    @Test("text", arguments: WebSocketRow.validText) func validText(row: WebSocketRow) async throws {
        try await run(row)
    }

    // WS-7, RFC 6455 §8.1
    @Test("text that is not UTF-8", arguments: WebSocketRow.invalidText)
    func invalidText(row: WebSocketRow) async throws { try await run(row) }

    // WS-7, RFC 6455 §5.4, §8.1
    @Test("fragments that are not UTF-8", arguments: WebSocketRow.invalidFragments)
    func invalidFragments(row: WebSocketRow) async throws { try await run(row) }

    // WS-11, WS-14, WS-17, RFC 6455 §5.5.1, §7.4
    @Test("close frames", arguments: WebSocketRow.closing) func closing(row: WebSocketRow) async throws {
        try await run(row)
    }

    // WS-11, RFC 6455 §1.4
    @Test("after a close frame", arguments: WebSocketRow.afterClose) func afterClose(row: WebSocketRow) async throws {
        try await run(row)
    }

    // WS-8
    @Test("sizes and limits", arguments: WebSocketRow.limits) func limits(row: WebSocketRow) async throws {
        try await run(row)
    }

    @Test("the tables are whole, and each row has its own name") func tables() {
        let rows = WebSocketRow.all.flatMap { $0 }
        #expect(rows.count >= 500)
        for table in WebSocketRow.all {
            let names = table.map(\.testDescription)
            #expect(
                Set(names).count == names.count, "\(Dictionary(grouping: names) { $0 }.filter { $1.count > 1 }.keys)")
        }
    }

    // MARK: The client

    private func run(_ row: WebSocketRow) async throws {
        let server = try ScriptedServer.webSocket { try row.serve($0) }
        defer { server.stop() }
        let delegate = RecordingWebSocketDelegate()
        let session = URLSession(delegate)
        let task = session.webSocketTask(with: server.webSocketURL())
        if let limit = row.maximumMessageSize { task.maximumMessageSize = limit }
        task.resume()
        session.finishTasksAndInvalidate()
        var received: [WebSocketMessage] = []
        var failure: (any Error)?
        while failure == nil {
            do {
                let message = try await task.receive()
                received.append(message.message)
                // It fails once the connection closes.
                try? await task.send(message)
            } catch {
                failure = error
            }
        }
        let calls = try await delegate.callsUntilInvalid()
        try await server.finish()
        switch row.outcome {
        case .echoes(let messages, _):
            #expect(received == messages)
            #expect(calls == Self.calls(closed: .closed(1, 1000, "")))
            #expect(task.error == nil)
            #expect(task.closeCode == .normalClosure)
        case .closes(let code, let reason, let messages):
            #expect(received == messages)
            let text = String(decoding: reason, as: UTF8.self)
            #expect(calls == Self.calls(closed: .closed(1, Int(code ?? 1005), text)))
            #expect(task.error == nil)
            #expect(task.closeCode.rawValue == Int(code ?? 1005))
            #expect(task.closeReason == Data(reason))
        case .fails(let code, let messages):
            #expect(messages.starts(with: received))
            #expect(
                calls.filter { $0.kind == "opened" || $0.kind == "completed" }.map(\.kind) == ["opened", "completed"])
            #expect(task.error != nil)
            #expect(failure?.summary == task.error?.summary)
            // WS-8
            if code == 1009 { #expect(failure?.summary == "POSIX \(EMSGSIZE)") }
        }
    }

    private static func calls(closed: Call) -> [Call] {
        [.created(1), .opened(1, nil), closed, .metrics(1), .completed(1, nil), .invalid]
    }
}
