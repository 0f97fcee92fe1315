import Foundation
import FoundationNetworking

/// Short messages of RFC 6455, unmasked from the server.
private func frame(_ opcode: UInt8, _ payload: Data) -> Data { Data([0x80 | opcode, UInt8(payload.count)]) + payload }

private struct Frame: Sendable {
    var opcode: UInt8
    var payload: Data
    var isMasked: Bool
}

extension Connection {
    fileprivate func handshake(_ fields: String = "") throws -> Request {
        guard let request = try request() else { throw Ended() }
        let key = (request.value("Sec-WebSocket-Key") ?? "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        let accept = Data(Digests.sha1(Array(key.utf8))).base64EncodedString()
        try send(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: \(accept)\r\n\(fields)\r\n"
        )
        return request
    }

    fileprivate func frame() throws -> Frame {
        let head = try bytes(2)
        let isMasked = head[1] & 0x80 != 0
        let mask = isMasked ? try bytes(4) : Data([0, 0, 0, 0])
        let payload = try bytes(Int(head[1] & 0x7f))
        return Frame(
            opcode: head[0] & 0x0f, payload: Data(payload.enumerated().map { $1 ^ mask[$0 % 4] }), isMasked: isMasked)
    }
}

/// Sends back messages, answers pings and closes.
private func echo(_ fields: String = "") throws -> Server {
    try Server { connection, server in
        server.record(try connection.handshake(fields))
        while true {
            let one = try connection.frame()
            guard one.isMasked else { return }
            switch one.opcode {
            case 8: return try connection.send(frame(8, one.payload))
            case 9: try connection.send(frame(10, one.payload))
            case 1, 2: try connection.send(frame(one.opcode, one.payload))
            default: break
            }
        }
    }
}

private func webSocket(_ server: Server) throws -> URL {
    try unwrap(URL(string: "ws://127.0.0.1:\(server.port)/chat"), "URL")
}

private func describe(_ message: URLSessionWebSocketTask.Message) -> String {
    switch message {
    case .string(let string): "string \(string)"
    case .data(let data): "data \(text(data))"
    @unknown default: "unknown"
    }
}

let webSocketCases: [Case] = [
    Case("WS-1", "WS-7", name: "text and binary messages come back") {
        let task = makeSession().webSocketTask(with: try webSocket(try echo()))
        task.resume()
        try await task.send(.string("hello"))
        try equal(describe(try await task.receive()), "string hello", "message")
        try await task.send(.data(Data("bytes".utf8)))
        try equal(describe(try await task.receive()), "data bytes", "message")
    },
    Case("WS-1", "WS-3", name: "protocols are offered, and the delegate gets the selected one") {
        let server = try echo("Sec-WebSocket-Protocol: two\r\n")
        let recorder = Recorder()
        makeSession(recorder).webSocketTask(with: try webSocket(server), protocols: ["one", "two"]).resume()
        await until { recorder.events.contains("open") || recorder.isComplete }
        try equal(recorder.events.first, "open", "first callback")
        try equal(recorder.seen.openedWith, "two", "protocol")
        try equal(server.requests.first?.value("Sec-WebSocket-Protocol"), "one, two", "Sec-WebSocket-Protocol")
    },
    Case("WS-1", name: "the fields of the request are sent") {
        let server = try echo()
        let task = makeSession().webSocketTask(with: request(try webSocket(server), "GET", ["X-Name": "a"]))
        task.resume()
        try await task.send(.string("hello"))
        _ = try await task.receive()
        try equal(server.requests.first?.value("X-Name"), "a", "X-Name")
    },
    Case("WS-4", name: "a response other than 101 is -1011") {
        let recorder = Recorder()
        let task = makeSession(recorder).webSocketTask(with: try webSocket(try Server(Response(500, [], "no"))))
        task.resume()
        await recorder.completion()
        try equal(code(recorder.seen.errors[0]), NSURLErrorBadServerResponse, "error")
        try equal(task.closeCode, .invalid, "closeCode")
        try check(!recorder.events.contains("open"), "it was opened")
    },
    Case("WS-6", name: "a message that is sent before the connection is open waits for it") {
        let server = try echo()
        let task = makeSession().webSocketTask(with: try webSocket(server))
        let failure = Locked<NSError??>(nil)
        task.send(.string("early")) { failure.value = .some($0 as NSError?) }
        task.resume()
        await until { failure.value != nil }
        try equal(failure.value ?? nil, nil, "error")
        try equal(describe(try await task.receive()), "string early", "message")
    },
    Case("WS-7", name: "fragments are one message") {
        let server = try Server { connection, _ in
            _ = try connection.handshake()
            try connection.send(Data([0x01, 3]) + Data("fra".utf8) + Data([0x00, 2]) + Data("gm".utf8))
            try connection.send(frame(9, Data()) + Data([0x80, 4]) + Data("ents".utf8))
            connection.waitForEnd()
        }
        let task = makeSession().webSocketTask(with: try webSocket(server))
        task.resume()
        try equal(describe(try await task.receive()), "string fragments", "message")
    },
    Case("WS-8", name: "a message above maximumMessageSize fails") {
        let server = try Server { connection, _ in
            _ = try connection.handshake()
            try connection.send(frame(1, Data(repeating: 97, count: 100)))
            connection.waitForEnd()
        }
        let task = makeSession().webSocketTask(with: try webSocket(server))
        task.maximumMessageSize = 50
        task.resume()
        let result = Locked<String?>(nil)
        task.receive { message in
            switch message {
            case .success(let message): result.value = describe(message)
            case .failure(let error): result.value = "\((error as NSError).domain) \((error as NSError).code)"
            }
        }
        await until { result.value != nil }
        try equal(result.value, "\(NSPOSIXErrorDomain) \(EMSGSIZE)", "result")
    },
    Case("WS-13", name: "a connection that ends without a close frame fails what waits") {
        let server = try Server { connection, _ in _ = try connection.handshake() }
        let recorder = Recorder()
        let task = makeSession(recorder).webSocketTask(with: try webSocket(server))
        task.resume()
        await recorder.completion()
        try equal(code(recorder.seen.errors[0]), NSURLErrorNetworkConnectionLost, "error")
        try check(!recorder.events.contains("closed"), "didCloseWith was called")
    },
    Case("WS-9", name: "a ping is answered") {
        let task = makeSession().webSocketTask(with: try webSocket(try echo()))
        task.resume()
        let answer = Locked<NSError??>(nil)
        task.sendPing { answer.value = .some($0 as NSError?) }
        await until { answer.value != nil }
        try equal(answer.value ?? nil, nil, "error")
    },
    Case("WS-9", name: "the server's ping is answered with a pong") {
        let pong = Locked<String?>(nil)
        let server = try Server { connection, _ in
            _ = try connection.handshake()
            try connection.send(frame(9, Data("ping".utf8)))
            let one = try connection.frame()
            pong.value = "\(one.opcode) \(text(one.payload))"
            connection.waitForEnd()
        }
        let task = makeSession().webSocketTask(with: try webSocket(server))
        task.resume()
        task.receive { _ in }
        await until { pong.value != nil || task.state == .completed }
        try equal(pong.value, "10 ping", "opcode and payload")
    },
    Case("WS-10", name: "cancel(with:reason:) sends the code and the reason") {
        let closing = Locked<Data?>(nil)
        let server = try Server { connection, _ in
            _ = try connection.handshake()
            let one = try connection.frame()
            closing.value = one.payload
            try connection.send(frame(8, one.payload))
        }
        let recorder = Recorder()
        let task = makeSession(recorder).webSocketTask(with: try webSocket(server))
        task.resume()
        await until { recorder.events.contains("open") || recorder.isComplete }
        task.cancel(with: .goingAway, reason: Data("bye".utf8))
        await until { closing.value != nil || recorder.isComplete }
        await quiet(100)
        try equal(closing.value, Data([0x03, 0xe9]) + Data("bye".utf8), "payload")
    },
    Case("WS-11", name: "the server's close comes with its code and reason") {
        let server = try Server { connection, _ in
            _ = try connection.handshake()
            try connection.send(frame(8, Data([0x03, 0xe9]) + Data("bye".utf8)))
            connection.waitForEnd()
        }
        let recorder = Recorder()
        let task = makeSession(recorder).webSocketTask(with: try webSocket(server))
        task.resume()
        task.receive { _ in }
        await recorder.completion()
        try equal(recorder.events.filter { $0 != "metrics" }, ["open", "closed", "complete"], "callbacks")
        try equal(recorder.seen.closing?.code, .goingAway, "code")
        try equal(recorder.seen.closing?.reason, Data("bye".utf8), "reason")
        try equal(recorder.seen.codes, [nil], "errors")
        try equal(task.closeCode, .goingAway, "closeCode")
    },
]
