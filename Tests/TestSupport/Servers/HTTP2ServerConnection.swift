/// An HTTP/2 server connection with control over each frame, so that a script can also violate the protocol.
///
///     let http2 = try HTTP2ServerConnection(connection)
///     let stream = try http2.readRequest()
///     try http2.respond(on: stream, body: "hello")
///
/// Header compression uses no dynamic table, and received fields are not decoded: scripts identify requests by stream.
package final class HTTP2ServerConnection {
    package struct Frame: Sendable, Equatable {
        package var type: UInt8
        package var flags: UInt8
        package var stream: Int64
        package var payload: [UInt8]

        package init(type: UInt8, flags: UInt8 = 0, stream: Int64, payload: [UInt8]) {
            self.type = type
            self.flags = flags
            self.stream = stream
            self.payload = payload
        }
    }

    package enum FrameType {
        package static let data: UInt8 = 0
        package static let headers: UInt8 = 1
        package static let reset: UInt8 = 3
        package static let settings: UInt8 = 4
        package static let ping: UInt8 = 6
        package static let goAway: UInt8 = 7
        package static let windowUpdate: UInt8 = 8
        package static let priorityUpdate: UInt8 = 16
    }

    package struct NotHTTP2: Error {}

    package let connection: ServerConnection

    private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    /// Reads the client's preface, and sends settings (pairs of identifier and value), if any.
    package init(_ connection: ServerConnection, settings: [(UInt16, UInt32)]? = []) throws {
        self.connection = connection
        let preface = try connection.receive(exactly: Self.preface.utf8.count)
        guard preface == Array(Self.preface.utf8) else { throw NotHTTP2() }
        guard let settings else { return }
        try send(
            FrameType.settings, stream: 0, settings.flatMap { Self.bytes($0.0) + Self.bytes($0.1) })
    }

    package func readFrame() throws -> Frame {
        let head = try connection.receive(exactly: 9)
        let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        let stream = head[5...8].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        return Frame(
            type: head[3], flags: head[4], stream: Int64(stream),
            payload: length > 0 ? try connection.receive(exactly: length) : [])
    }

    /// Reads up to a frame of that type. Settings are acknowledged, pings answered.
    package func readFrame(_ type: UInt8) throws -> Frame {
        while true {
            let frame = try readFrame()
            if frame.type == FrameType.settings, frame.flags & 1 == 0 {
                try send(FrameType.settings, flags: 1, stream: 0)
            }
            if frame.type == FrameType.ping, frame.flags & 1 == 0 {
                try send(FrameType.ping, flags: 1, stream: 0, frame.payload)
            }
            if frame.type == type { return frame }
        }
    }

    /// The stream of the next request head.
    package func readRequest() throws -> Int64 { try readFrame(FrameType.headers).stream }

    package func send(_ type: UInt8, flags: UInt8 = 0, stream: Int64, _ payload: [UInt8] = []) throws {
        try send([Frame(type: type, flags: flags, stream: stream, payload: payload)])
    }

    /// Sends frames together.
    package func send(_ frames: [Frame]) throws {
        try connection.send(
            frames.flatMap { HTTP2Frames.frame($0.type, flags: $0.flags, stream: $0.stream, $0.payload) })
    }

    /// - Parameter fields: Names in lower case.
    package func sendHead(
        on stream: Int64, status: Int = 200, fields: [(String, String)] = [], ends: Bool = false
    ) throws {
        // Literals that are not indexed; 8 is the name ":status" of the static table.
        var block: [UInt8] = [0x08, 3] + Array(String(status).utf8)
        for (name, value) in fields {
            block += [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        try send(FrameType.headers, flags: ends ? 5 : 4, stream: stream, block)
    }

    package func sendBody(_ bytes: [UInt8], on stream: Int64, ends: Bool) throws {
        try send(FrameType.data, flags: ends ? 1 : 0, stream: stream, bytes)
    }

    package func respond(on stream: Int64, status: Int = 200, body: String) throws {
        try sendHead(on: stream, status: status, fields: [("content-length", "\(body.utf8.count)")])
        try sendBody(Array(body.utf8), on: stream, ends: true)
    }

    /// - Parameter code: An error code of RFC 9113 §7.
    package func reset(_ stream: Int64, _ code: UInt32) throws {
        try send(FrameType.reset, stream: stream, Self.bytes(code))
    }

    package func goAway(lastStream: Int64, _ code: UInt32 = 0) throws {
        try send(FrameType.goAway, stream: 0, Self.bytes(UInt32(lastStream)) + Self.bytes(code))
    }

    private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
}
