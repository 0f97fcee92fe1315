import Foundation
import TestSupport
import Testing

private typealias F = HTTP2Frames

/// Frames of a hostile HTTP/2 server after the first request of a connection (stream 1), the expected callbacks, and
/// the expected reaction of the client.
struct HostileFrames: Sendable, CustomTestStringConvertible {
    /// How a client reports an error, with its code (RFC 9113 §7).
    enum Reaction: Sendable, Equatable {
        /// GOAWAY.
        case goAway(UInt32)
        /// RST_STREAM.
        case reset(UInt32)
    }

    let name: String
    let bytes: [UInt8]
    /// The first bytes of the server, by default an empty SETTINGS frame.
    var opening = F.settings()
    /// The expected callbacks for which `Call.isAboutResponse` is true.
    let recorded: [Call]
    let reaction: Reaction?

    var testDescription: String { name }

    // MARK: What ends the connection

    private static func broken(
        _ name: String, _ code: UInt32, _ bytes: [UInt8], opening: [UInt8] = F.settings(), after before: [Call] = []
    ) -> Self {
        Self(
            name: name, bytes: bytes, opening: opening, recorded: before + [.completed(1, .cannotParseResponse)],
            reaction: .goAway(code))
    }

    private static let protocolError: UInt32 = 1
    private static let flowControlError: UInt32 = 3
    private static let frameSizeError: UInt32 = 6
    private static let compressionError: UInt32 = 9
    private static let enhanceYourCalm: UInt32 = 11

    /// A field block with status 200.
    private static let well = F.block([(":status", "200")])

    /// RFC 9113 §3.4, §6.5
    static let openings: [Self] = [
        broken(
            "the words of HTTP/1.1 in the place of frames", protocolError, [], opening: Array("HTTP/1.1 400 Bad".utf8)),
        broken("another frame than settings first", protocolError, [], opening: F.ping()),
        broken("an answer to settings first", protocolError, [], opening: F.settingsAnswer),
        broken("settings of five octets", frameSizeError, F.frame(4, [0, 1, 0, 0, 0])),
        broken("settings on a stream", protocolError, F.frame(4, stream: 1)),
        broken("an answer to settings with settings in it", frameSizeError, F.frame(4, flags: 1, [0, 3, 0, 0, 0, 1])),
        broken("an answer to settings that were not sent", protocolError, F.settingsAnswer),
        broken("a push that is neither allowed nor forbidden", protocolError, F.settings([(2, 2)])),
        broken("a push that a server allows", protocolError, F.settings([(2, 1)])),
        broken("a window of more than 31 bits", flowControlError, F.settings([(4, 1 << 31)])),
        broken("frames that are too small", protocolError, F.settings([(5, 16_383)])),
        broken("frames that are too large", protocolError, F.settings([(5, 1 << 24)])),
        broken("a connect protocol that is neither", protocolError, F.settings([(8, 2)])),
        broken("priorities that are of another kind than before", protocolError, F.settings([(9, 1)])),
        broken("too many settings", enhanceYourCalm, F.settings(Array(repeating: (3, 100), count: 1_000))),
    ]

    /// RFC 9113 §4, §5.1, §6
    static let frames: [Self] = [
        broken(
            "a frame that is too long", frameSizeError, Array(F.data(1, Array(repeating: 0, count: 16_385)).prefix(9))),
        broken("data on no stream", protocolError, F.data(0, "x")),
        broken("data on a stream that was not opened", protocolError, F.data(3, "x")),
        broken("data on a server's stream", protocolError, F.data(2, "x")),
        broken(
            "padding that is longer than its frame", protocolError,
            F.headers(1, well) + F.frame(0, flags: 8, stream: 1, [2, 0]), after: [.response(1, 200)]),
        broken("fields on no stream", protocolError, F.headers(0, well)),
        broken("fields on a stream that was not opened", protocolError, F.headers(3, well)),
        broken("fields on a server's stream", protocolError, F.headers(2, well)),
        broken("fields with too much padding", protocolError, F.frame(1, flags: 0xC, stream: 1, [200] + well)),
        broken("fields that are shorter than their priority", frameSizeError, F.frame(1, flags: 0x24, stream: 1, [0])),
        broken("a priority of four octets", frameSizeError, F.frame(2, stream: 1, [0, 0, 0, 0])),
        broken("a priority of no stream", protocolError, F.frame(2, [0, 0, 0, 0, 1])),
        broken("a reset of no stream", protocolError, F.reset(0, 8)),
        broken("a reset of a stream that was not opened", protocolError, F.reset(3, 8)),
        broken("a reset of three octets", frameSizeError, F.frame(3, stream: 1, [0, 0, 0])),
        broken("a ping of seven octets", frameSizeError, F.frame(6, [1, 2, 3, 4, 5, 6, 7])),
        broken("a ping on a stream", protocolError, F.frame(6, stream: 1, [1, 2, 3, 4, 5, 6, 7, 8])),
        broken("a GOAWAY of seven octets", frameSizeError, F.frame(7, [0, 0, 0, 1, 0, 0, 0])),
        broken("a GOAWAY on a stream", protocolError, F.frame(7, stream: 1, [0, 0, 0, 1, 0, 0, 0, 0])),
        broken("a GOAWAY that a later one takes back", protocolError, F.goAway(1) + F.goAway(3)),
        broken("a window of three octets", frameSizeError, F.frame(8, [0, 0, 1])),
        broken("a window that opens by nothing", protocolError, F.windowUpdate(0, 0)),
        broken("a stream's window that opens by nothing", protocolError, F.windowUpdate(1, 0)),
        broken("a window of a stream that was not opened", protocolError, F.windowUpdate(3, 1)),
        broken("a window that overflows", flowControlError, F.windowUpdate(0, 0x7FFF_FFFF)),
        broken("fields that go on without a beginning", protocolError, F.continuation(1, well)),
        broken(
            "fields that go on on another stream", protocolError,
            F.headers(1, well, whole: false) + F.continuation(3, [])),
        broken("a ping in the midst of fields", protocolError, F.headers(1, well, whole: false) + F.ping()),
        broken(
            "a promise", protocolError, F.frame(5, flags: 4, stream: 1, F.octets(2) + F.block([(":method", "GET")]))),
        broken("a promise without a stream in it", frameSizeError, F.frame(5, flags: 4, stream: 1, [0, 0])),
        broken("data before the head", protocolError, F.data(1, "x")),
    ]

    /// RFC 7541
    static let compression: [Self] = [
        broken("the entry 0", compressionError, F.headers(1, [0x80])),
        broken("an entry that is not there", compressionError, F.headers(1, well + [0x80 | 62])),
        broken("a name that is not there", compressionError, F.headers(1, well + [0x40 | 62, 1, 0x61])),
        broken("a number without an end", compressionError, F.headers(1, well + [0xFF, 0xFF, 0xFF, 0xFF])),
        broken(
            "a number beyond all bounds", compressionError, F.headers(1, [0xFF] + Array(repeating: 0xFF, count: 12))),
        broken("a value that is cut off", compressionError, F.headers(1, well + [0, 1, 0x61, 5, 0x62])),
        broken(
            "a code of Huffman's that is none", compressionError,
            F.headers(1, well + [0, 1, 0x61, 0x84] + [0xFF, 0xFF, 0xFF, 0xFF])),
        broken("a table that is larger than allowed", compressionError, F.headers(1, [0x3F, 0xE2, 0x1F] + well)),
        broken(
            "a value of more than 64 KiB", compressionError,
            F.headers(1, well, whole: false)
                + F.continuation(1, Array(F.field([0x61], Array(repeating: 0x62, count: 70_000)).prefix(16_000)))),
        broken("a table that changes behind a field", compressionError, F.headers(1, well + [0x20])),
    ]

    // MARK: What ends the response

    private static func malformed(
        _ name: String, _ bytes: [UInt8], after before: [Call] = [], code: URLError.Code = .cannotParseResponse,
        reaction: UInt32 = 1
    ) -> Self {
        Self(name: name, bytes: bytes, recorded: before + [.completed(1, code)], reaction: .reset(reaction))
    }

    private static func head(_ name: String, _ fields: [(String, String)]) -> Self {
        malformed(name, F.headers(1, F.block(fields)))
    }

    /// RFC 9113 §8
    static let responses: [Self] = [
        head("a name in capitals", [(":status", "200"), ("Content-Type", "x")]),
        head("no status", [("a", "b")]),
        head("two statuses", [(":status", "200"), (":status", "200")]),
        head("a status of two digits", [(":status", "20")]),
        head("a status of four digits", [(":status", "2000")]),
        head("a status of letters", [(":status", "abc")]),
        head("a status behind the fields", [("a", "b"), (":status", "200")]),
        head("a field of a request's", [(":status", "200"), (":path", "/")]),
        head("an unknown field with a colon", [(":status", "200"), (":what", "/")]),
        head("a field of the connection's", [(":status", "200"), ("connection", "close")]),
        head("a transfer coding", [(":status", "200"), ("transfer-encoding", "chunked")]),
        head("an upgrade", [(":status", "200"), ("upgrade", "h2c")]),
        head("a name that is none", [(":status", "200"), ("a b", "c")]),
        head("no name", [(":status", "200"), ("", "c")]),
        head("a NUL in a value", [(":status", "200"), ("a", "b\0c")]),
        head("a line's end in a value", [(":status", "200"), ("a", "b\r\nc: d")]),
        head("two lengths", [(":status", "200"), ("content-length", "1"), ("content-length", "2")]),
        head("a length that is none", [(":status", "200"), ("content-length", "-1")]),
        head("a switch of protocols", [(":status", "101")]),
        malformed("no final response", F.head(1, 103, ends: true)),
        malformed(
            "a status in the trailers", F.head(1, 200) + F.headers(1, well, ends: true), after: [.response(1, 200)]),
        malformed(
            "fields in the midst of a body", F.head(1, 200) + F.headers(1, F.block([("a", "b")])),
            after: [.response(1, 200)]),
        malformed(
            "a body that is longer than it says", F.head(1, 200, [("content-length", "2")]) + F.data(1, "abc"),
            after: [.response(1, 200)]),
        // CONN-27
        malformed(
            "a body that is shorter than it says",
            F.head(1, 200, [("content-length", "4")]) + F.data(1, "abc", ends: true),
            after: [.response(1, 200), .data(1, "abc")], code: .networkConnectionLost),
        malformed(
            "a stream's window that overflows", F.windowUpdate(1, 0x7FFF_FFFF), reaction: flowControlError),
        malformed(
            "a stream's window that settings have overflow",
            F.windowUpdate(1, 0x7FFF_0000) + F.settings([(4, 0x7FFF_FFFF)]), reaction: flowControlError),
        malformed(
            "too many fields",
            F.headers(1, well + F.block(Array(repeating: ("a", "b"), count: 2_001))), reaction: 8),
        Self(
            name: "a reset", bytes: F.reset(1, 2), recorded: [.completed(1, .networkConnectionLost)], reaction: nil),
    ]

    // MARK: What does no harm

    /// RFC 9113 §4.1, §5.5, §6
    static let ignored: [Self] = [
        ("an unknown frame", F.frame(0x77, flags: 0xFF, stream: 1, [1, 2, 3])),
        ("an unknown frame of a stream that was not opened", F.frame(0x77, stream: 99, [1, 2, 3])),
        ("a place elsewhere, and names", F.frame(0xA, [0, 0]) + F.frame(0xC, [0, 1, 0x61])),
        ("an unknown setting", F.settings([(0x77, 5)])),
        ("a setting given twice", F.settings([(3, 1), (3, 100)])),
        ("a ping, and an answer to none", F.ping() + F.ping(answer: true)),
        ("priorities", F.frame(2, stream: 1, [0, 0, 0, 3, 1]) + F.frame(2, stream: 7, [0x80, 0, 0, 3, 1])),
        (
            "a stream's number with the bit that means nothing",
            F.frame(8, stream: 1 << 31, F.octets(1))
        ),
        ("flags that mean nothing", F.frame(6, flags: 0xFE, [1, 2, 3, 4, 5, 6, 7, 8])),
        ("an interim response", F.head(1, 103)),
        ("no promise of more streams, and then one", F.settings([(3, 0)]) + F.settings([(3, 100)])),
    ].map { name, bytes in
        let body = F.frame(0, flags: 8, stream: 1, [255] + Array("well".utf8) + [UInt8](repeating: 7, count: 255))
        // What is padded, in pieces and followed by what is late.
        let end =
            F.data(1, "", ends: true) + F.windowUpdate(1, 1) + F.reset(1, 0) + F.frame(2, stream: 1, [0, 0, 0, 3, 1])
        let response = F.headers(1, well, whole: false) + F.continuation(1, []) + body + end
        let interim: [Call] = name == "an interim response" ? [.informational(1, 103)] : []
        return Self(
            name: name, bytes: bytes + response,
            recorded: interim + [.response(1, 200), .data(1, "well"), .completed(1, nil)], reaction: nil)
    }
}

extension Call {
    /// Whether this callback is deterministic: the amount of data before a failure is not.
    var isAboutResponse: Bool {
        switch self {
        case .data(_, let text): text.utf8.count < 1_000
        case .informational, .response, .completed: true
        default: false
        }
    }
}
