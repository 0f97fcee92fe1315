/// A frame that a session has sent, cut by the tests' own reader.
struct HTTP2SentFrame: Equatable, CustomStringConvertible {
    var type: UInt8
    var flags: UInt8
    var stream: Int64
    var payload: [UInt8]

    private static let names = [
        "DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY", "WINDOW_UPDATE",
        "CONTINUATION",
    ]

    var name: String { Int(type) < Self.names.count ? Self.names[Int(type)] : "\(type)" }

    /// The payload's last four octets as a number: a code or an increment.
    var number: UInt32 { payload.suffix(4).reduce(0) { $0 << 8 | UInt32($1) } }

    var description: String {
        switch type {
        case 0: "DATA \(stream) \(payload.count)\(flags & 1 != 0 ? " end" : "")"
        case 1: "HEADERS \(stream)\(flags & 1 != 0 ? " end" : "")"
        case 3, 8: "\(name) \(stream) \(number)"
        case 4: flags & 1 != 0 ? "SETTINGS answer" : "SETTINGS"
        case 6: flags & 1 != 0 ? "PING answer" : "PING"
        case 7: "GOAWAY \(payload[4..<8].reduce(0) { $0 << 8 | UInt32($1) })"
        default: "\(name) \(stream)"
        }
    }

    /// All frames of an output; nothing may be left over. The preface is stepped over.
    static func all(_ bytes: [UInt8]) -> [HTTP2SentFrame] {
        var rest = bytes[...]
        if rest.starts(with: preface) { rest = rest.dropFirst(preface.count) }
        var frames: [HTTP2SentFrame] = []
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let stream = head[5...].reduce(0 as UInt32) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
            frames.append(
                HTTP2SentFrame(
                    type: head[3], flags: head[4], stream: Int64(stream),
                    payload: Array(rest.dropFirst(9).prefix(length))))
            rest = rest.dropFirst(9 + length)
        }
        if !rest.isEmpty { frames.append(HTTP2SentFrame(type: 0xFF, flags: 0, stream: -1, payload: Array(rest))) }
        return frames
    }

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
}
