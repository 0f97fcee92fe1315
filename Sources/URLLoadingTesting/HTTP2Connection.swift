internal import CLoadingTestHTTP2
internal import Foundation

/// A connection of a server over HTTP/2. Each request has a thread of its own for its response, so that responses can
/// overtake each other.
final class HTTP2Connection: @unchecked Sendable {
    // Sendable: `condition` guards what is mutable, and the use of `session`.
    private let socket: TestSocket
    private let number: Int
    private let core: TestServerCore
    private let condition = NSCondition()
    private var session: OpaquePointer?
    private var streams: [Int32: Stream] = [:]
    /// Complete, and not answered yet.
    private var requests: [(stream: Int32, request: TestRequest)] = []
    private var hasEnded = false

    private struct Stream {
        var fields: [TestRequest.Field] = []
        var requestBody = Data()
        /// Of the response, not sent yet.
        var body = Data()
        var isBodyComplete = false
    }

    /// Nil without nghttp2.
    init?(_ socket: TestSocket, _ number: Int, of core: TestServerCore) {
        self.socket = socket
        self.number = number
        self.core = core
        var callbacks = clth_callbacks()
        callbacks.field = { owner, stream, name, nameLength, value, valueLength in
            HTTP2Connection.at(owner)?.received(
                TestRequest.Field(
                    name: String(decoding: UnsafeBufferPointer(start: name, count: nameLength), as: UTF8.self),
                    value: String(decoding: UnsafeBufferPointer(start: value, count: valueLength), as: UTF8.self)),
                on: stream)
        }
        callbacks.data = { owner, stream, bytes, count in
            guard let connection = HTTP2Connection.at(owner) else { return }
            connection.streams[stream]?.requestBody.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        }
        callbacks.request = { owner, stream in HTTP2Connection.at(owner)?.completed(stream) }
        callbacks.closed = { owner, stream in HTTP2Connection.at(owner)?.streams[stream] = nil }
        callbacks.body = { owner, stream, buffer, capacity, isLast in
            guard let connection = HTTP2Connection.at(owner), let buffer, let isLast else { return 0 }
            return connection.supply(
                UnsafeMutableBufferPointer(start: buffer, count: capacity), to: stream, &isLast.pointee)
        }
        session = clth_connection_new(&callbacks, Unmanaged.passUnretained(self).toOpaque())
        if session == nil { return nil }
    }

    deinit { clth_connection_free(session) }

    private static func at(_ owner: UnsafeMutableRawPointer?) -> HTTP2Connection? {
        owner.map { Unmanaged<HTTP2Connection>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Until the end of the connection.
    func serve() {
        while advance(with: []), let bytes = socket.read(), advance(with: bytes) {}
        condition.withLock {
            hasEnded = true
            condition.broadcast()
        }
        socket.finish()
    }

    /// Processes bytes from the client, answers them, and starts the responses to complete requests. False at the end.
    private func advance(with bytes: [UInt8]) -> Bool {
        condition.lock()
        let isValid = clth_receive(session, bytes, bytes.count)
        // Also after an error, which is reported to the client.
        let isOpen = flush() && isValid && clth_is_open(session)
        let new = requests
        requests = []
        condition.unlock()
        // Recorded here, in the order of their arrival.
        for (stream, request) in new {
            let place = core.record(request)
            let isStarted = core.start(named: "test-stream") { self.respond(to: request, place, on: stream) }
            if !isStarted {
                core.giveUp(requestAt: place)
                reset(stream)
            }
        }
        return isOpen
    }

    /// Writes what the session has for the client, with the lock. False if the connection has ended.
    private func flush() -> Bool {
        var output: [UInt8] = []
        var bytes: UnsafePointer<UInt8>?
        while true {
            let count = clth_send(session, &bytes)
            guard count > 0 else { break }
            output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
        }
        condition.broadcast()
        return (try? socket.write(output)) != nil
    }

    // MARK: Requests, with the lock

    private func received(_ field: TestRequest.Field, on stream: Int32) {
        streams[stream, default: Stream()].fields.append(field)
    }

    private func completed(_ stream: Int32) {
        guard let parts = streams[stream] else { return }
        let pseudo = Dictionary(
            parts.fields.filter { $0.name.hasPrefix(":") }.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        var fields = parts.fields.filter { !$0.name.hasPrefix(":") && $0.name != "cookie" }
        if let authority = pseudo[":authority"] { fields.insert(.init(name: "Host", value: authority), at: 0) }
        // One cookie may have a field of its own (RFC 9113 §8.2.3).
        let cookies = parts.fields.filter { $0.name == "cookie" }.map(\.value)
        if !cookies.isEmpty { fields.append(.init(name: "cookie", value: cookies.joined(separator: "; "))) }
        requests.append(
            (
                stream,
                TestRequest(
                    method: pseudo[":method"] ?? "", target: pseudo[":path"] ?? "", fields: fields,
                    body: parts.requestBody, isSecure: socket.isSecure, protocolName: "h2", connection: number)
            ))
        streams[stream] = Stream()
    }

    // MARK: Responses

    private func respond(to request: TestRequest, _ place: Int, on stream: Int32) {
        guard var response = core.response(to: request, place, unless: { isClosed(stream) }) else { return }
        // Extended CONNECT (RFC 8441) is not announced, so this request asks for no WebSocket.
        if response.webSocket != nil { response = TestResponse(status: 400) }
        let writer = HTTP2ResponseWriter(self, stream)
        // An error means that the client has gone, or has cancelled the request.
        _ = try? writer.send(response, to: request, of: core)
    }

    private func isClosed(_ stream: Int32) -> Bool { condition.withLock { hasEnded || streams[stream] == nil } }

    func interrupt() { socket.interrupt() }

    /// Writes bytes that are not frames, and ends the connection.
    func end(with bytes: Data) throws {
        try condition.withLock { try socket.write(Array(bytes)) }
        socket.finish()
        socket.interrupt()
    }

    func reset(_ stream: Int32) {
        condition.withLock {
            clth_reset(session, stream)
            _ = flush()
        }
    }

    /// - Parameter isLast: Whether the connection takes no other request.
    func writeHead(_ fields: [(name: String, value: String)], hasBody: Bool, isLast: Bool, on stream: Int32) throws {
        // Names and values one after the other, so that their memory stays where it is.
        var bytes = fields.flatMap { Array($0.name.lowercased().utf8) + Array($0.value.utf8) }
        try bytes.withUnsafeMutableBufferPointer { bytes in
            var start = 0
            let list = fields.map { field in
                let (name, value) = (field.name.lowercased().utf8.count, field.value.utf8.count)
                defer { start += name + value }
                return clth_field(
                    name: bytes.baseAddress?.advanced(by: start), value: bytes.baseAddress?.advanced(by: start + name),
                    name_length: name, value_length: value, flags: 0)
            }
            try condition.withLock {
                // The client must know before the end of the response, after which it may use the connection again.
                if isLast { clth_go_away(session) }
                guard !hasEnded, streams[stream] != nil, clth_respond(session, stream, list, list.count, hasBody),
                    flush()
                else { throw TestSocket.Ended() }
            }
        }
    }

    /// Returns when all of it has gone to the client, whose window may be full.
    func writeBody(_ bytes: Data, isLast: Bool, on stream: Int32) throws {
        try condition.withLock {
            streams[stream]?.body.append(bytes)
            streams[stream]?.isBodyComplete = isLast
            clth_resume(session, stream)
            guard flush() else { throw TestSocket.Ended() }
            while let rest = streams[stream]?.body, !rest.isEmpty, !hasEnded { condition.wait() }
            if hasEnded || (streams[stream] == nil && !isLast) { throw TestSocket.Ended() }
        }
    }

    /// Takes bytes of the body for a frame, with the lock.
    private func supply(_ buffer: UnsafeMutableBufferPointer<UInt8>, to stream: Int32, _ isLast: inout Bool) -> Int {
        guard var parts = streams[stream] else { return 0 }
        let count = min(buffer.count, parts.body.count)
        parts.body.copyBytes(to: buffer, count: count)
        parts.body = parts.body.dropFirst(count)
        streams[stream] = parts
        isLast = parts.body.isEmpty && parts.isBodyComplete
        return count
    }
}

/// Writes the response on one stream.
private struct HTTP2ResponseWriter: ResponseWriter {
    private let connection: HTTP2Connection
    private let stream: Int32

    init(_ connection: HTTP2Connection, _ stream: Int32) {
        self.connection = connection
        self.stream = stream
    }

    /// Fields that belong to a connection of HTTP/1.1 (RFC 9113 §8.2.2).
    private static let connectionFields: Set = [
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
    ]

    func writeHead(of response: TestResponse, to request: TestRequest) throws {
        let fields = response.fieldsWithLength.filter { !Self.connectionFields.contains($0.name.lowercased()) }
        try connection.writeHead(
            [(":status", "\(response.status)")] + fields, hasBody: response.mayHaveBody(to: request),
            isLast: response.isLast, on: stream)
    }

    func writeBody(_ bytes: Data, of response: TestResponse) throws {
        try connection.writeBody(bytes, isLast: false, on: stream)
    }

    func endBody(of response: TestResponse) throws { try connection.writeBody(Data(), isLast: true, on: stream) }

    func writeRaw(_ bytes: Data) throws { try connection.end(with: bytes) }

    func fail(_ fault: TestResponse.Fault) {
        switch fault {
        case .disconnect: connection.interrupt()
        case .reset: connection.reset(stream)
        case .stall: break
        }
    }
}
