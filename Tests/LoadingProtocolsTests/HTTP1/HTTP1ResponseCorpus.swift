import LoadingProtocols

/// Responses of servers good, odd and bad. Every case ends with the connection's end.
enum HTTP1ResponseCorpus {
    static let all = statusLines + fields + lengths + transferCodings + chunks + withoutBody + interim + reuse

    static let statusLines: [HTTP1ResponseCase] = [
        .init(
            "plain", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "1.1 200 OK | Content-Length=0 > known(0)",
            "end, reuse"),
        .init(
            "no reason", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "1.1 200 | Content-Length=0 > known(0)",
            "end, reuse"),
        .init(
            "no reason, no space", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "1.1 200 | Content-Length=0 > known(0)",
            "end, reuse"),
        .init(
            "long reason", "HTTP/1.1 404 Not Found At All, Sorry\r\n\r\n",
            "1.1 404 Not Found At All, Sorry > untilClose", "end, close"),
        .init("reason in UTF-8", "HTTP/1.1 200 schön\r\n\r\n", "1.1 200 schön > untilClose", "end, close"),
        .init("reason trimmed", "HTTP/1.1 200  OK \t\r\n\r\n", "1.1 200  OK > untilClose", "end, close"),
        .init("CONN-26 status 999", "HTTP/1.1 999 Hm\r\n\r\n", "1.1 999 Hm > untilClose", "end, close"),
        .init("version 1.0", "HTTP/1.0 200 OK\r\n\r\nx", "1.0 200 OK > untilClose", "body x", "end, close"),
        .init("later minor version", "HTTP/1.7 200 OK\r\n\r\n", "1.1 200 OK > untilClose", "end, close"),
        .init("empty lines first", "\r\n\n\r\nHTTP/1.1 200 OK\r\n\r\n", "1.1 200 OK > untilClose", "end, close"),
        .init("CONN-25 HTTP/0.9", "<html>hello</html>", "error malformedStatusLine", "left <html>hello</html>"),
        .init("CONN-25 HTTP/0.9, short", "Hi", "error malformedStatusLine", "left Hi"),
        .init("CONN-26 another protocol", "SSH-2.0-OpenSSH_9.2\r\n", "error malformedStatusLine"),
        .init("CONN-26 Shoutcast", "ICY 200 OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 lower case", "http/1.1 200 OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 version 2", "HTTP/2 200\r\n\r\n", "error unsupportedVersion"),
        .init("CONN-26 version 2.0", "HTTP/2.0 200 OK\r\n\r\n", "error unsupportedVersion"),
        .init("CONN-26 version 0.9", "HTTP/0.9 200 OK\r\n\r\n", "error unsupportedVersion"),
        .init("CONN-26 no minor version", "HTTP/1 200 OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 minor version x", "HTTP/1.x 200 OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 version of two digits", "HTTP/1.10 200 OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 no status", "HTTP/1.1\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 no status but a space", "HTTP/1.1 \r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 status of two digits", "HTTP/1.1 20 OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 status of four digits", "HTTP/1.1 2000 OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 status below 100", "HTTP/1.1 099 OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 status in letters", "HTTP/1.1 abc OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 negative status", "HTTP/1.1 -20 OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 two spaces", "HTTP/1.1  200 OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 tab", "HTTP/1.1\t200 OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-26 reason without space", "HTTP/1.1 200OK\r\n\r\n", "error malformedStatusLine"),
        .init("CONN-28 NUL in the reason", "HTTP/1.1 200 O\0K\r\n\r\n", "error nulInHead"),
        .init("CONN-28 CR in the reason", "HTTP/1.1 200 O\rK\r\n\r\n", "error bareCarriageReturn"),
        .init("CONN-28 CR before CRLF", "HTTP/1.1 200 OK\r\r\n\r\n", "error bareCarriageReturn"),
        .init("CONN-28 CR before the status line", "\rHTTP/1.1 200 OK\r\n\r\n", "error bareCarriageReturn"),
        .init(
            "CONN-28 CR after empty lines", "\r\n\n\r\r\nHTTP/1.1 200 OK\r\n\r\n", "error bareCarriageReturn"),
        .init("ERR-6 only a CR", "\r", "error endOfInputInHead"),
        .init("CONN-28 NUL instead of all", "\0\0\0\0", "error malformedStatusLine"),
        .init("ERR-6 nothing", "", "error endOfInputBeforeResponse"),
        .init("ERR-6 only an empty line", "\r\n", "error endOfInputInHead"),
        .init("ERR-6 half a status line", "HTTP/1.1 20", "error endOfInputInHead"),
        .init("ERR-6 no empty line", "HTTP/1.1 200 OK\r\nA: b\r\n", "error endOfInputInHead"),
    ]

    static let fields: [HTTP1ResponseCase] = [
        .init(
            "CONN-28 whitespace around the value", "HTTP/1.1 204 N\r\nA: \t b c \t \r\n\r\n",
            "1.1 204 N | A=b c > none", "end, reuse"),
        .init(
            "CONN-28 no space after the colon", "HTTP/1.1 204 N\r\nA:b\r\n\r\n", "1.1 204 N | A=b > none", "end, reuse"),
        .init(
            "empty values", "HTTP/1.1 204 N\r\nA:\r\nB: \r\nC:\n\r\n", "1.1 204 N | A= | B= | C= > none", "end, reuse"),
        .init("colons in the value", "HTTP/1.1 204 N\r\nA: :b:c:\r\n\r\n", "1.1 204 N | A=:b:c: > none", "end, reuse"),
        .init(
            "order, spelling, repetition", "HTTP/1.1 204 N\r\nb: 1\r\nA: 2\r\nB: 3\r\n\r\n",
            "1.1 204 N | b=1 | A=2 | B=3 > none", "end, reuse"),
        .init(
            "every token character", "HTTP/1.1 204 N\r\n!#$%&'*+-.^_`|~09azAZ: v\r\n\r\n",
            "1.1 204 N | !#$%&'*+-.^_`|~09azAZ=v > none", "end, reuse"),
        .init("UTF-8 in the value", "HTTP/1.1 204 N\r\nA: grün\r\n\r\n", "1.1 204 N | A=grün > none", "end, reuse"),
        .init(
            "control characters stay", "HTTP/1.1 204 N\r\nA: \u{1}b\u{7F}\tc\u{1B}\r\n\r\n",
            "1.1 204 N | A=\u{1}b\u{7F}\tc\u{1B} > none", "end, reuse"),
        .init(
            "CONN-28 fold", "HTTP/1.1 204 N\r\nA: b\r\n c\r\nD: e\r\n\r\n", "1.1 204 N | A=b c | D=e > none",
            "end, reuse"),
        .init(
            "CONN-28 folds and whitespace", "HTTP/1.1 204 N\r\nA: b  \r\n \t  c \r\n\td\t\r\n\r\n",
            "1.1 204 N | A=b c d > none", "end, reuse"),
        .init(
            "CONN-28 fold of nothing", "HTTP/1.1 204 N\r\nA: b\r\n   \r\nD: e\r\n\r\n", "1.1 204 N | A=b | D=e > none",
            "end, reuse"),
        .init(
            "CONN-28 fold after an empty value", "HTTP/1.1 204 N\r\nA:\r\n b\r\n\r\n", "1.1 204 N | A=b > none",
            "end, reuse"),
        .init("CONN-28 fold with LF alone", "HTTP/1.1 204 N\nA: b\n c\n\n", "1.1 204 N | A=b c > none", "end, reuse"),
        .init(
            "CONN-28 folded length", "HTTP/1.1 200 N\r\nContent-Length:\r\n 3\r\n\r\nabc",
            "1.1 200 N | Content-Length=3 > known(3)", "body abc", "end, reuse"),
        .init("CONN-28 LF alone", "HTTP/1.1 204 N\nA: b\nC: d\n\n", "1.1 204 N | A=b | C=d > none", "end, reuse"),
        .init(
            "CONN-28 CRLF and LF mixed", "HTTP/1.1 200 N\r\nA: b\nContent-Length: 1\r\n\nx",
            "1.1 200 N | A=b | Content-Length=1 > known(1)", "body x", "end, reuse"),
        .init(
            "CONN-28 CR alone", "HTTP/1.1 200 N\rA: b\rContent-Length: 1\r\rx", "error bareCarriageReturn"),
        .init(
            "CONN-28 CR forges a field", "HTTP/1.1 200 N\r\nX-Lang: de\rSet-Cookie: sid=evil\r\n\r\n",
            "error bareCarriageReturn"),
        .init(
            "CONN-28 CR forges a body", "HTTP/1.1 200 N\r\nX-Lang: de\r\r<html>\r\n\r\n", "error bareCarriageReturn"),
        .init("CONN-28 CR in a value", "HTTP/1.1 200 N\r\nA: b\rc\r\n\r\n", "error bareCarriageReturn"),
        .init("CONN-28 CR at the end of a value", "HTTP/1.1 200 N\r\nA: b\r\r\n\r\n", "error bareCarriageReturn"),
        .init("CONN-28 CR for the empty line", "HTTP/1.1 200 N\r\nA: b\r\n\rx", "error bareCarriageReturn"),
        .init("CONN-28 CR in a name", "HTTP/1.1 200 N\r\nA\rB: c\r\n\r\n", "error bareCarriageReturn"),
        .init("CONN-28 CR before a fold", "HTTP/1.1 200 N\r\nA: b\r\r\n c\r\n\r\n", "error bareCarriageReturn"),
        .init("CONN-28 CR instead of a fold", "HTTP/1.1 200 N\r\nA: b\r c\r\n\r\n", "error bareCarriageReturn"),
        .init("CONN-28 CR in a fold", "HTTP/1.1 200 N\r\nA: b\r\n c\rd\r\n\r\n", "error bareCarriageReturn"),
        .init("ERR-6 ends with a CR", "HTTP/1.1 200 N\r\nA: b\r", "error endOfInputInHead"),
        .init("CONN-28 NUL in a value", "HTTP/1.1 200 N\r\nA: b\0c\r\n\r\n", "error nulInHead"),
        .init("CONN-28 NUL in a folded value", "HTTP/1.1 200 N\r\nA: b\r\n \0c\r\n\r\n", "error nulInHead"),
        .init("CONN-26 NUL in a name", "HTTP/1.1 200 N\r\nA\0: b\r\n\r\n", "error malformedFieldName"),
        .init("CONN-26 space before the colon", "HTTP/1.1 200 N\r\nA : b\r\n\r\n", "error malformedFieldName"),
        .init("CONN-26 space in a name", "HTTP/1.1 200 N\r\nA B: c\r\n\r\n", "error malformedFieldName"),
        .init("CONN-26 no name", "HTTP/1.1 200 N\r\n: b\r\n\r\n", "error malformedFieldName"),
        .init("CONN-26 UTF-8 in a name", "HTTP/1.1 200 N\r\nÄ: b\r\n\r\n", "error malformedFieldName"),
        .init("CONN-26 separator in a name", "HTTP/1.1 200 N\r\nA(b): c\r\n\r\n", "error malformedFieldName"),
        .init("CONN-26 no colon", "HTTP/1.1 200 N\r\nhello\r\n\r\n", "error missingColon"),
        .init("CONN-26 fold without a field", "HTTP/1.1 200 N\r\n A: b\r\n\r\n", "error foldBeforeFirstField"),
        .init(
            "CONN-26 whitespace instead of the empty line", "HTTP/1.1 200 N\r\n \r\n\r\n", "error foldBeforeFirstField"),
    ]

    static let lengths: [HTTP1ResponseCase] = [
        .init(
            "length", "HTTP/1.1 200 N\r\nContent-Length: 5\r\n\r\nhello", "1.1 200 N | Content-Length=5 > known(5)",
            "body hello", "end, reuse"),
        .init(
            "length, name in any case", "HTTP/1.1 200 N\r\ncONTENT-lENGTH: 1\r\n\r\nx",
            "1.1 200 N | cONTENT-lENGTH=1 > known(1)", "body x", "end, reuse"),
        .init(
            "leading zeros", "HTTP/1.1 200 N\r\nContent-Length: 0000000000000000000000002\r\n\r\nhi",
            "1.1 200 N | Content-Length=0000000000000000000000002 > known(2)", "body hi", "end, reuse"),
        .init(
            "bytes after the end", "HTTP/1.1 200 N\r\nContent-Length: 2\r\n\r\nhi there",
            "1.1 200 N | Content-Length=2 > known(2)", "body hi", "end, reuse", "left  there"),
        .init(
            "bytes after an empty body", "HTTP/1.1 200 N\r\nContent-Length: 0\r\n\r\nx",
            "1.1 200 N | Content-Length=0 > known(0)", "end, reuse", "left x"),
        .init(
            "the same length in a list", "HTTP/1.1 200 N\r\nContent-Length: 2, 2\r\n\r\nhi",
            "1.1 200 N | Content-Length=2, 2 > known(2)", "body hi", "end, reuse"),
        .init(
            "the same length twice", "HTTP/1.1 200 N\r\nContent-Length: 2\r\nContent-Length: 02\r\n\r\nhi",
            "1.1 200 N | Content-Length=2 | Content-Length=02 > known(2)", "body hi", "end, reuse"),
        .init(
            "the greatest length", "HTTP/1.1 200 N\r\nContent-Length: 9223372036854775807\r\n\r\nx",
            "1.1 200 N | Content-Length=9223372036854775807 > known(9223372036854775807)", "body x",
            "error endOfInputInBody"),
        .init(
            "CONN-27 until close", "HTTP/1.1 200 N\r\n\r\nhello", "1.1 200 N > untilClose", "body hello", "end, close"),
        .init("CONN-27 until close, empty", "HTTP/1.1 200 N\r\n\r\n", "1.1 200 N > untilClose", "end, close"),
        .init(
            "CONN-27 short body", "HTTP/1.1 200 N\r\nContent-Length: 5\r\n\r\nhell",
            "1.1 200 N | Content-Length=5 > known(5)", "body hell", "error endOfInputInBody"),
        .init(
            "ERR-6 announced and missing body", "HTTP/1.1 200 N\r\nContent-Length: 5\r\n\r\n",
            "1.1 200 N | Content-Length=5 > known(5)", "error endOfInputInBody"),
        .init(
            "CONN-27 not a number", "HTTP/1.1 200 N\r\nContent-Length: five\r\n\r\nx", "error malformedContentLength",
            "left x"),
        .init("CONN-27 negative", "HTTP/1.1 200 N\r\nContent-Length: -1\r\n\r\n", "error malformedContentLength"),
        .init("CONN-27 with a unit", "HTTP/1.1 200 N\r\nContent-Length: 42s\r\n\r\n", "error malformedContentLength"),
        .init(
            "CONN-27 not a number, twice", "HTTP/1.1 200 N\r\nContent-Length: x\r\nContent-Length: x\r\n\r\n",
            "error malformedContentLength"),
        .init("CONN-27 plus sign", "HTTP/1.1 200 N\r\nContent-Length: +5\r\n\r\n", "error malformedContentLength"),
        .init("CONN-27 hexadecimal", "HTTP/1.1 200 N\r\nContent-Length: 0x5\r\n\r\n", "error malformedContentLength"),
        .init("CONN-27 a fraction", "HTTP/1.1 200 N\r\nContent-Length: 5.0\r\n\r\n", "error malformedContentLength"),
        .init("CONN-27 two numbers", "HTTP/1.1 200 N\r\nContent-Length: 5 5\r\n\r\n", "error malformedContentLength"),
        .init("CONN-27 empty", "HTTP/1.1 200 N\r\nContent-Length:\r\n\r\n", "error malformedContentLength"),
        .init(
            "CONN-27 empty in a list", "HTTP/1.1 200 N\r\nContent-Length: 5,\r\n\r\n", "error malformedContentLength"),
        .init(
            "CONN-27 empty first in a list", "HTTP/1.1 200 N\r\nContent-Length: ,30\r\n\r\n",
            "error malformedContentLength"),
        .init(
            "CONN-27 empty between equal lengths", "HTTP/1.1 200 N\r\nContent-Length: 30,,30\r\n\r\n",
            "error malformedContentLength"),
        .init(
            "CONN-27 overflow by one", "HTTP/1.1 200 N\r\nContent-Length: 9223372036854775808\r\n\r\n",
            "error malformedContentLength"),
        .init(
            "CONN-27 overflow", "HTTP/1.1 200 N\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            "error malformedContentLength"),
        .init(
            "CONN-27 different lengths in a list", "HTTP/1.1 200 N\r\nContent-Length: 5, 6\r\n\r\n",
            "error conflictingContentLengths"),
        .init(
            "CONN-27 different lengths", "HTTP/1.1 200 N\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "error conflictingContentLengths"),
        .init(
            "CONN-27 the smaller length second", "HTTP/1.1 200 N\r\nContent-Length: 6, 5\r\n\r\n",
            "error conflictingContentLengths"),
        .init(
            "CONN-27 a wrong length among right ones", "HTTP/1.1 200 N\r\nContent-Length: 5, x, 5\r\n\r\n",
            "error malformedContentLength"),
    ]

    static let transferCodings: [HTTP1ResponseCase] = [
        .init(
            "chunked in any case", "HTTP/1.1 200 N\r\ntransfer-encoding: CHUNKED\r\n\r\n0\r\n\r\n",
            "1.1 200 N | transfer-encoding=CHUNKED > chunked", "end, reuse"),
        .init(
            "chunked over a length, no reuse",
            "HTTP/1.1 200 N\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            "1.1 200 N | Content-Length=9 | Transfer-Encoding=chunked > chunked", "body x", "end, close"),
        .init(
            "chunked over a malformed length",
            "HTTP/1.1 200 N\r\nContent-Length: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "1.1 200 N | Content-Length=x | Transfer-Encoding=chunked > chunked", "end, close"),
        .init(
            "chunked twice, no reuse", "HTTP/1.1 200 N\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            "1.1 200 N | Transfer-Encoding=chunked, chunked > chunked", "end, close"),
        .init(
            "chunked in version 1.0, no reuse",
            "HTTP/1.0 200 N\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "1.0 200 N | Connection=keep-alive | Transfer-Encoding=chunked > chunked", "end, close"),
        .init(
            "empty elements", "HTTP/1.1 200 N\r\nTransfer-Encoding: ,\t, chunked ,\r\n\r\n0\r\n\r\n",
            "1.1 200 N | Transfer-Encoding=,\t, chunked , > chunked", "end, reuse"),
        .init(
            "no element", "HTTP/1.1 200 N\r\nTransfer-Encoding:\r\nContent-Length: 1\r\n\r\nx",
            "1.1 200 N | Transfer-Encoding= | Content-Length=1 > known(1)", "body x", "end, reuse"),
        .init(
            "identity is nothing, no reuse",
            "HTTP/1.1 200 N\r\nTransfer-Encoding: identity\r\nContent-Length: 1\r\n\r\nx",
            "1.1 200 N | Transfer-Encoding=identity | Content-Length=1 > known(1)", "body x", "end, close"),
        .init(
            "chunked, then identity, no reuse",
            "HTTP/1.1 200 N\r\nTransfer-Encoding: chunked, Identity\r\n\r\n0\r\n\r\n",
            "1.1 200 N | Transfer-Encoding=chunked, Identity > chunked", "end, close"),
        // RFC 9112 §7.1
        .init(
            "parameters of chunked", "HTTP/1.1 200 N\r\nTransfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n",
            "error unsupportedTransferCoding", "left 0\r\n\r\n"),
        .init(
            "parameters of nothing",
            "HTTP/1.1 200 N\r\nTransfer-Encoding: ;chunked\r\nContent-Length: 1\r\n\r\nx",
            "error unsupportedTransferCoding", "left x"),
        .init(
            "CONN-27 not a coding", "HTTP/1.1 200 N\r\nTransfer-Encoding: binary\r\nContent-Length: 1\r\n\r\nx",
            "error unsupportedTransferCoding", "left x"),
        .init(
            "compression", "HTTP/1.1 200 N\r\nTransfer-Encoding: gzip\r\n\r\nx", "error unsupportedTransferCoding",
            "left x"),
        .init(
            "compression, then chunked", "HTTP/1.1 200 N\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            "error unsupportedTransferCoding", "left 0\r\n\r\n"),
        .init(
            "unknown, then chunked", "HTTP/1.1 200 N\r\nTransfer-Encoding: foo\r\nTransfer-Encoding: chunked\r\n\r\n",
            "error unsupportedTransferCoding"),
        .init(
            "chunked, then unknown", "HTTP/1.1 200 N\r\nTransfer-Encoding: chunked, foo\r\n\r\n",
            "error unsupportedTransferCoding"),
        .init(
            "almost chunked", "HTTP/1.1 200 N\r\nTransfer-Encoding: xchunked\r\n\r\nx",
            "error unsupportedTransferCoding", "left x"),
    ]

    private static let chunked = "HTTP/1.1 200 N\r\nTransfer-Encoding: chunked\r\n\r\n"
    private static let head = "1.1 200 N | Transfer-Encoding=chunked > chunked"

    static let chunks: [HTTP1ResponseCase] = [
        .init(
            "CONN-23 chunks", chunked + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", head, "body hello world", "end, reuse"
        ),
        .init(
            "CONN-23 sizes in any case and with zeros",
            chunked + "00a\r\n0123456789\r\nB\r\n0123456789a\r\n000\r\n\r\n", head, "body 01234567890123456789a",
            "end, reuse"),
        .init(
            "CONN-23 line ends in the data", chunked + "4\r\n\r\n\r\n\r\n0\r\n\r\n", head, "body \r\n\r\n", "end, reuse"
        ),
        .init("CONN-23 extensions", chunked + "1;a;b=c;d=\"e;\"\r\nx\r\n0;last\r\n\r\n", head, "body x", "end, reuse"),
        .init(
            "CONN-23 whitespace after the size", chunked + "1 \t\r\nx\r\n1 ;a\r\ny\r\n0  \r\n\r\n", head, "body xy",
            "end, reuse"),
        .init("CONN-28 LF alone", chunked + "1\nx\n0\n\n", head, "body x", "end, reuse"),
        .init(
            "CONN-23 trailers", chunked + "1\r\nx\r\n0\r\nA: b\r\nC: d\r\n e\r\n\r\n", head, "body x",
            "end, reuse | A=b | C=d e"),
        .init(
            "CONN-23 a trailer changes nothing", chunked + "0\r\nConnection: close\r\nContent-Length: 3\r\n\r\nxyz",
            head, "end, reuse | Connection=close | Content-Length=3", "left xyz"),
        .init("CONN-23 bytes after the end", chunked + "0\r\n\r\nHTTP", head, "end, reuse", "left HTTP"),
        .init("CONN-23 no size", chunked + "\r\nx", head, "error malformedChunkSize"),
        .init("CONN-23 not a size", chunked + "g\r\n", head, "error malformedChunkSize"),
        .init("CONN-23 negative size", chunked + "-1\r\n", head, "error malformedChunkSize"),
        .init("CONN-23 prefixed size", chunked + "0x1\r\nx\r\n", head, "error malformedChunkSize"),
        .init("CONN-23 space before the size", chunked + " 1\r\nx\r\n", head, "error malformedChunkSize"),
        .init("CONN-23 two sizes", chunked + "1 1\r\nx\r\n", head, "error malformedChunkSize"),
        .init("CONN-23 size and CR alone", chunked + "1\rx\r\n", head, "error malformedChunkSize"),
        .init("CONN-23 CR alone in an extension", chunked + "1;a\rb\r\nx\r\n", head, "error malformedChunkSize"),
        .init("CONN-23 the greatest size", chunked + "7fffffffffffffff\r\nx", head, "body x", "error endOfInputInBody"),
        .init("CONN-23 size of 64 bits", chunked + "8000000000000000\r\nx", head, "error chunkSizeOverflow"),
        .init("CONN-23 size of 68 bits", chunked + "fffffffffffffffff\r\nx", head, "error chunkSizeOverflow"),
        .init(
            "CONN-23 more data than the size", chunked + "1\r\nxy\r\n0\r\n\r\n", head, "body x", "error missingChunkEnd"
        ),
        .init(
            "CONN-23 two CR after the data", chunked + "1\r\nx\r\r\n0\r\n\r\n", head, "body x", "error missingChunkEnd"),
        .init("CONN-23 trailer without colon", chunked + "0\r\nA\r\n\r\n", head, "error missingColon"),
        .init(
            "CONN-28 CR in a trailer", chunked + "0\r\nA: b\rC: d\r\n\r\n", head, "error bareCarriageReturn"),
        .init("CONN-28 CR for the end of the trailers", chunked + "0\r\n\rHTTP", head, "error bareCarriageReturn"),
        .init("CONN-23 trailer with NUL", chunked + "0\r\nA: \0\r\n\r\n", head, "error nulInHead"),
        .init("CONN-23 fold instead of a trailer", chunked + "0\r\n A: b\r\n\r\n", head, "error foldBeforeFirstField"),
        .init("ERR-6 no chunk", chunked, head, "error endOfInputInBody"),
        .init("ERR-6 half a chunk", chunked + "5\r\nhel", head, "body hel", "error endOfInputInBody"),
        .init("ERR-6 no last chunk", chunked + "5\r\nhello\r\n", head, "body hello", "error endOfInputInBody"),
        .init("ERR-6 no empty line after the last chunk", chunked + "0\r\n", head, "error endOfInputInBody"),
        .init("ERR-6 half a trailer", chunked + "0\r\nA: b\r\n", head, "error endOfInputInBody"),
    ]

    static let withoutBody: [HTTP1ResponseCase] = [
        .init(
            "T-28 HEAD", "HTTP/1.1 200 N\r\nContent-Length: 5\r\n\r\n", to: .head,
            "1.1 200 N | Content-Length=5 > none", "end, reuse"),
        .init(
            "T-28 HEAD, chunked", "HTTP/1.1 200 N\r\nTransfer-Encoding: chunked\r\n\r\n", to: .head,
            "1.1 200 N | Transfer-Encoding=chunked > none", "end, reuse"),
        .init(
            "T-28 HEAD, malformed length", "HTTP/1.1 200 N\r\nContent-Length: x\r\n\r\n", to: .head,
            "1.1 200 N | Content-Length=x > none", "end, reuse"),
        .init(
            "T-28 HEAD, answered with a body", "HTTP/1.1 200 N\r\nContent-Length: 1\r\n\r\nx", to: .head,
            "1.1 200 N | Content-Length=1 > none", "end, reuse", "left x"),
        .init(
            "T-28 204", "HTTP/1.1 204 N\r\nContent-Length: 5\r\n\r\n", "1.1 204 N | Content-Length=5 > none",
            "end, reuse"),
        .init(
            "T-28 304", "HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n", "1.1 304 N | Content-Length=5 > none",
            "end, reuse"),
        .init(
            "T-28 205 may have one", "HTTP/1.1 205 N\r\nContent-Length: 1\r\n\r\nx",
            "1.1 205 N | Content-Length=1 > known(1)", "body x", "end, reuse"),
        .init(
            "CONNECT accepted", "HTTP/1.1 200 N\r\nContent-Length: 5\r\n\r\n\u{16}\u{3}", to: .connect,
            "switch 1.1 200 N | Content-Length=5", "left \u{16}\u{3}"),
        .init("CONNECT accepted with 299", "HTTP/1.0 299 N\r\n\r\n", to: .connect, "switch 1.0 299 N"),
        .init(
            "CONNECT refused", "HTTP/1.1 407 N\r\nContent-Length: 1\r\n\r\nx", to: .connect,
            "1.1 407 N | Content-Length=1 > known(1)", "body x", "end, reuse"),
    ]

    static let interim: [HTTP1ResponseCase] = [
        .init(
            "T-54 interim responses",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 E\r\nLink: </a>\r\n\r\nHTTP/1.1 204 N\r\n\r\n",
            "interim 1.1 100 Continue", "interim 1.1 102 P", "interim 1.1 103 E | Link=</a>", "1.1 204 N > none",
            "end, reuse"),
        .init(
            "T-54 an interim response has no body",
            "HTTP/1.1 100 C\r\nContent-Length: 5\r\nConnection: close\r\n\r\nHTTP/1.1 204 N\r\n\r\n",
            "interim 1.1 100 C | Content-Length=5 | Connection=close", "1.1 204 N > none", "end, reuse"),
        .init(
            "T-54 empty lines between", "HTTP/1.1 100 C\r\n\r\n\r\nHTTP/1.1 204 N\r\n\r\n", "interim 1.1 100 C",
            "1.1 204 N > none", "end, reuse"),
        .init(
            "T-54 101 to an upgrade", "HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n\u{1}\u{2}", to: .upgrade,
            "switch 1.1 101 S | Upgrade=websocket", "left \u{1}\u{2}"),
        .init(
            "T-54 100 before 101", "HTTP/1.1 100 C\r\n\r\nHTTP/1.1 101 S\r\n\r\n", to: .upgrade, "interim 1.1 100 C",
            "switch 1.1 101 S"),
        .init(
            "an upgrade refused", "HTTP/1.1 200 N\r\nContent-Length: 1\r\n\r\nx", to: .upgrade,
            "1.1 200 N | Content-Length=1 > known(1)", "body x", "end, reuse"),
        .init("T-54 101 unasked", "HTTP/1.1 101 S\r\n\r\n", "error unexpectedProtocolSwitch"),
        .init(
            "CONN-28 CR forges the response after an interim one",
            "HTTP/1.1 103 E\r\nLink: </a>\r\rHTTP/1.1 200 N\r\n\r\n", "error bareCarriageReturn"),
        .init(
            "CONN-28 CR in the answer to CONNECT", "HTTP/1.1 200 N\r\nA: b\r\r\u{16}\u{3}", to: .connect,
            "error bareCarriageReturn"),
        .init(
            "ERR-6 only an interim response", "HTTP/1.1 100 C\r\n\r\n", "interim 1.1 100 C", "error endOfInputInHead"),
    ]

    static let reuse: [HTTP1ResponseCase] = [
        .init(
            "close", "HTTP/1.1 204 N\r\nConnection: close\r\n\r\n", "1.1 204 N | Connection=close > none", "end, close"),
        .init(
            "close among others", "HTTP/1.1 204 N\r\nConnection: foo , CLOSE\r\n\r\n",
            "1.1 204 N | Connection=foo , CLOSE > none", "end, close"),
        .init(
            "close wins", "HTTP/1.1 204 N\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n",
            "1.1 204 N | Connection=keep-alive | Connection=close > none", "end, close"),
        .init(
            "close in another word", "HTTP/1.1 204 N\r\nConnection: closed\r\n\r\n",
            "1.1 204 N | Connection=closed > none", "end, reuse"),
        .init("version 1.0", "HTTP/1.0 204 N\r\n\r\n", "1.0 204 N > none", "end, close"),
        .init(
            "version 1.0 kept alive", "HTTP/1.0 200 N\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx",
            "1.0 200 N | Connection=Keep-Alive | Content-Length=1 > known(1)", "body x", "end, reuse"),
    ]
}
