import Foundation
import TestSupport
import Testing

/// Bytes of a hostile server, and the expected callbacks.
struct HostileResponse: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    /// The callbacks up to the end of the load.
    let recorded: [RecordedEvent]

    var testDescription: String { name }

    private init(_ name: String, _ bytes: String, _ recorded: [RecordedEvent]) {
        self.name = name
        self.bytes = Array(bytes.utf8)
        self.recorded = recorded
    }

    /// How the bytes are split. The result must not depend on it.
    enum Arrival: Sendable, CaseIterable {
        case inOnePiece
        case byteByByte

        var pieceSize: Int { self == .inOnePiece ? .max : 1 }
    }

    // MARK: Ends too early

    static let truncated: [HostileResponse] = {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n\r\n"
        let cuts = [0, 1, 5, 8, 9, 12, 15, 16, 17, 22, 33, 36, 38, head.utf8.count - 2, head.utf8.count - 1]
        let inHead = cuts.map { cut in
            HostileResponse(
                "a head cut after \(cut) bytes", String(head.utf8.prefix(cut)) ?? "",
                [.failed(.networkConnectionLost)])
        }
        return inHead + [
            HostileResponse("no body", head, [.response(200), .failed(.networkConnectionLost)]),
            HostileResponse(
                "a short body", head + "hel", [.response(200), .data("hel"), .failed(.networkConnectionLost)]),
            HostileResponse(
                "an interim response alone", "HTTP/1.1 103 Early Hints\r\n\r\n",
                [.informational(103), .failed(.networkConnectionLost)]),
            chunked("no chunk", "", .networkConnectionLost),
            chunked("a chunk size cut", "5", .networkConnectionLost),
            chunked("a chunk size's line cut", "5\r", .networkConnectionLost),
            chunked("a chunk cut", "5\r\nhel", .networkConnectionLost, body: "hel"),
            chunked("the end of a chunk cut", "5\r\nhello", .networkConnectionLost, body: "hello"),
            chunked("no last chunk", "5\r\nhello\r\n", .networkConnectionLost, body: "hello"),
            chunked("the end of the last chunk cut", "5\r\nhello\r\n0\r\n", .networkConnectionLost, body: "hello"),
            chunked("trailers cut", "5\r\nhello\r\n0\r\nX: y\r\n", .networkConnectionLost, body: "hello"),
        ]
    }()

    // MARK: Is no response

    static let garbledHeads: [HostileResponse] = [
        ("plain text, as HTTP/0.9 had it", "hello world\r\n"),
        ("a page without a head", "<html><body>hello</body></html>"),
        ("another protocol", "SSH-2.0-OpenSSH_9.2p1\r\n"),
        ("a streaming server's status line", "ICY 200 OK\r\n\r\n"),
        ("zeros", "\0\0\0\0\0\0\0\0"),
        ("HTTP/2's own form", "\0\0\u{12}\u{4}\0\0\0\0\0"),
        ("a lower-case version", "http/1.1 200 OK\r\n\r\n"),
        ("version 2.0", "HTTP/2.0 200 OK\r\n\r\n"),
        ("version 0.9", "HTTP/0.9 200 OK\r\n\r\n"),
        ("no version number", "HTTP/ 200 OK\r\n\r\n"),
        ("a version of letters", "HTTP/1.x 200 OK\r\n\r\n"),
        ("no space after the version", "HTTP/1.1200 OK\r\n\r\n"),
        ("no status", "HTTP/1.1\r\n\r\n"),
        ("a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"),
        ("a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"),
        ("a status of letters", "HTTP/1.1 abc OK\r\n\r\n"),
        ("a negative status", "HTTP/1.1 -20 OK\r\n\r\n"),
        ("a status below 100", "HTTP/1.1 099 OK\r\n\r\n"),
        ("a NUL in the reason", "HTTP/1.1 200 O\0K\r\n\r\n"),
        ("a field without colon", "HTTP/1.1 200 OK\r\nContent-Length\r\n\r\n"),
        ("a field without name", "HTTP/1.1 200 OK\r\n: 5\r\n\r\n"),
        ("a space before the colon", "HTTP/1.1 200 OK\r\nContent-Length : 0\r\n\r\n"),
        ("a space in a name", "HTTP/1.1 200 OK\r\nContent Length: 0\r\n\r\n"),
        ("a name that is no token", "HTTP/1.1 200 OK\r\nContent-L\u{E9}ngth: 0\r\n\r\n"),
        ("a CR that makes a field", "HTTP/1.1 200 OK\r\nX-Lang: de\rSet-Cookie: sid=evil\r\n\r\n"),
        ("a CR that makes a body", "HTTP/1.1 200 OK\r\nX-Lang: de\r\r<html>forged</html>\r\n\r\n"),
        ("CRs for all line ends", "HTTP/1.1 200 OK\rContent-Length: 5\r\rhello"),
        ("a CR that makes a response", "HTTP/1.1 103 Early Hints\r\rHTTP/1.1 200 OK\r\n\r\n"),
        ("a CR before the head", "\rHTTP/1.1 200 OK\r\n\r\n"),
        ("a NUL in a value", "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n"),
        ("a NUL in a name", "HTTP/1.1 200 OK\r\nX\0: ab\r\n\r\n"),
        ("a fold before any field", "HTTP/1.1 200 OK\r\n folded\r\n\r\n"),
        ("nothing but empty lines", String(repeating: "\r\n", count: 64)),
        ("a switch of protocols that was not requested", "HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    ].map { HostileResponse($0, $1, [.failed(.cannotParseResponse)]) }

    // MARK: Says wrong lengths

    static let lengths: [HostileResponse] =
        [
            "abc", "-1", "-5", "+5", "5a", "5s", "0x5", "5 5", "5.0", "5;6", "5,", ",5", "", "99999999999999999999",
            "\u{665}", "5, 6",
        ]
        .map {
            HostileResponse(
                "Content-Length: \($0)", "HTTP/1.1 200 OK\r\nContent-Length: \($0)\r\n\r\nhello",
                [.failed(.cannotParseResponse)])
        } + [
            HostileResponse(
                "two lengths that differ", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
                [.failed(.cannotParseResponse)]),
            HostileResponse(
                "two lengths that agree", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\nhello",
                [.response(200), .data("hello"), .succeeded]),
            HostileResponse(
                "a length that agrees with itself", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
                [.response(200), .data("hello"), .succeeded]),
            HostileResponse(
                "the greatest length there is", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nhello",
                [.response(200), .data("hello"), .failed(.networkConnectionLost)]),
            HostileResponse(
                "chunks and a wrong length",
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                [.response(200), .data("hello"), .succeeded]),
            HostileResponse(
                "a transfer coding that was not requested",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", [.failed(.cannotParseResponse)]),
            HostileResponse(
                "an unknown transfer coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: binary\r\n\r\nhello",
                [.failed(.cannotParseResponse)]),
        ]

    // MARK: Says wrong chunks

    static let chunks: [HostileResponse] = [
        chunked("a size of letters", "xyz\r\nhello", .cannotParseResponse),
        chunked("no size", "\r\nhello", .cannotParseResponse),
        chunked("a negative size", "-5\r\nhello", .cannotParseResponse),
        chunked("a size with a prefix", "0x5\r\nhello", .cannotParseResponse),
        chunked("a size of 64 bits", "8000000000000000\r\nhello", .cannotParseResponse),
        chunked("a size of more bits", "10000000000000005\r\nhello", .cannotParseResponse),
        chunked("a size of very many bits", String(repeating: "f", count: 4096) + "\r\nhello", .cannotParseResponse),
        chunked(
            "the greatest size there is", "7fffffffffffffff\r\nhello", .networkConnectionLost, body: "hello"),
        chunked("no line end after a chunk", "5\r\nhello5\r\nhello\r\n", .cannotParseResponse, body: "hello"),
        chunked("a chunk longer than said", "3\r\nhello\r\n", .cannotParseResponse, body: "hel"),
        chunked("a CR inside an extension", "5;a\rb\r\nhello", .cannotParseResponse),
        chunked("a CR inside a trailer", "5\r\nhello\r\n0\r\nX: a\rY: b\r\n\r\n", .cannotParseResponse, body: "hello"),
        chunked("a trailer without colon", "5\r\nhello\r\n0\r\nX\r\n\r\n", .cannotParseResponse, body: "hello"),
        chunked(
            "an endless extension", "5;" + String(repeating: "x", count: 20_000) + "\r\nhello", .cannotParseResponse),
    ]

    private static func chunked(
        _ name: String, _ rest: String, _ code: URLError.Code, body: String? = nil
    ) -> HostileResponse {
        HostileResponse(
            name, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + rest,
            [.response(200)] + (body.map { [.data($0)] } ?? []) + [.failed(code)])
    }

    // MARK: Odd and right

    static let tolerated: [HostileResponse] = [
        ("line feeds alone", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"),
        ("empty lines before the head", "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        ("no reason", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello"),
        ("a minor version of the future", "HTTP/1.7 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        ("no space after the colon", "HTTP/1.1 200 OK\r\nContent-Length:5\r\n\r\nhello"),
        ("much space around a value", "HTTP/1.1 200 OK\r\nContent-Length: \t  5 \t \r\n\r\nhello"),
        ("a folded value", "HTTP/1.1 200 OK\r\nX: a\r\n  b\r\nContent-Length: 5\r\n\r\nhello"),
        ("no length", "HTTP/1.1 200 OK\r\n\r\nhello"),
        (
            "chunk extensions",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n003\r\nllo\r\n0;x\r\n\r\n"
        ),
        (
            "a size with capitals",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n00000005 \r\nhello\r\n0\r\n\r\n"
        ),
    ].map { HostileResponse($0, $1, [.response(200), .data("hello"), .succeeded]) }
}
