import LoadingProtocols
import LoadingSemantics
import Testing

@Suite("HTTP/1 responses")
struct HTTP1ResponseParserTests {
    /// Left-over bytes of a failed exchange depend on how far a read reached; those of a good one do not.
    private func comparable(_ lines: [String]) -> [String] {
        guard let error = lines.firstIndex(where: { $0.hasPrefix("error") }) else { return lines }
        return Array(lines[...error])
    }

    // CONN-23, CONN-25 to CONN-28, ERR-6, ERR-7, T-28, T-54
    @Test("corpus", arguments: HTTP1ResponseCorpus.all)
    func corpus(_ response: HTTP1ResponseCase) {
        let transcript = HTTP1Transcript([response.bytes], to: response.kind)
        #expect(comparable(transcript.lines) == comparable(response.expected))
    }

    @Test("the corpus reads the same however it is cut in two", arguments: HTTP1ResponseCorpus.all)
    func everySplit(_ response: HTTP1ResponseCase) {
        for split in 0...response.bytes.count {
            let parts = [Array(response.bytes[..<split]), Array(response.bytes[split...])]
            #expect(
                comparable(HTTP1Transcript(parts, to: response.kind).lines) == comparable(response.expected),
                "cut at \(split)")
        }
    }

    @Test("the corpus reads the same byte by byte", arguments: HTTP1ResponseCorpus.all)
    func byteByByte(_ response: HTTP1ResponseCase) {
        let parts = response.bytes.map { [$0] }
        #expect(comparable(HTTP1Transcript(parts, to: response.kind).lines) == comparable(response.expected))
    }

    // CONN-26, CONN-28: every octet in a name and in a value, wherever in a word of eight it lies.
    @Test("every octet", arguments: 0...UInt8.max)
    func everyOctet(_ octet: UInt8) {
        let tokens = Array("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for padding in 0..<9 {
            let text = [UInt8](repeating: 0x61, count: padding) + [octet] + [UInt8](repeating: 0x61, count: 9)
            let start = Array("HTTP/1.1 204 N\r\n".utf8)
            let name = HTTP1Transcript([start + text + Array(": b\r\n\r\n".utf8)]).lines
            #expect((name.last == "end, reuse") == (tokens.contains(octet) || (octet == 0x3A && padding > 0)))
            let value = HTTP1Transcript([start + Array("A: a".utf8) + text + Array("\r\n\r\n".utf8)]).lines
            #expect((value.last == "end, reuse") == ![0x00, 0x0A, 0x0D].contains(octet))
        }
    }

    // CONN-27, ERR-6: wherever the connection ends, the error says how far the response had come.
    @Test(
        "truncation",
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n0\r\nA: b\r\n\r\n",
        ])
    func truncation(_ text: String) {
        let bytes = Array(text.utf8)
        let empty = Array("\r\n\r\n".utf8)
        let headLength = 4 + (bytes.indices.first { bytes[$0...].starts(with: empty) } ?? 0)
        for count in bytes.indices {
            let expected: HTTP1ParseError =
                count == 0 ? .endOfInputBeforeResponse : count < headLength ? .endOfInputInHead : .endOfInputInBody
            #expect(HTTP1Transcript([Array(bytes[..<count])]).lines.last == "error \(expected)", "\(count) bytes")
            #expect(expected.isEarlyEnd)
        }
        #expect(HTTP1Transcript([bytes]).lines.last?.hasPrefix("end") == true)
    }

    // ERR-7
    @Test("only a lack of bytes is an early end")
    func earlyEnd() {
        let others: [HTTP1ParseError] = [
            .tooManyLeadingEmptyLines, .malformedStatusLine, .unsupportedVersion, .headTooLong, .tooManyFields,
            .malformedFieldName, .missingColon, .foldBeforeFirstField, .nulInHead, .bareCarriageReturn,
            .tooManyInformationalResponses,
            .unexpectedProtocolSwitch, .malformedContentLength, .conflictingContentLengths,
            .unsupportedTransferCoding, .malformedChunkSize, .chunkSizeOverflow, .chunkLineTooLong,
            .missingChunkEnd, .trailerTooLong,
        ]
        #expect(others.filter(\.isEarlyEnd) == [])
    }

    @Test("the head as a value, with its length on the wire, whole and cut", arguments: [0, 1, 17, 40, 63])
    func headValue(split: Int) throws {
        let text = "HTTP/1.1 200 All right then\r\nServer: a\r\nX-Long:  b\r\n  c \r\n\r\n"
        let bytes = Array(text.utf8)
        var parser = HTTP1ResponseParser()
        parser.begin(.other)
        var heads: [ResponseHead] = []
        for part in [bytes[..<min(split, bytes.count)], bytes[min(split, bytes.count)...]] {
            try part.withUnsafeBytes {
                var input = $0
                while let event = try parser.next(&input) {
                    if case .head(let head, _) = event { heads.append(head) }
                }
            }
        }
        let expected = ResponseHead(
            status: 200, version: .http11, reason: "All right then",
            fields: HTTPFields([("Server", "a"), ("X-Long", "b c")]), byteCount: bytes.count)
        #expect(heads == [expected])
    }

    // CONN-10: what the retry of a request on a stale connection depends on.
    @Test("the first byte of a response is noticed")
    func hasStarted() throws {
        var parser = HTTP1ResponseParser()
        parser.begin(.other)
        try feed([], to: &parser)
        #expect(!parser.hasStarted)
        try feed(Array("\r".utf8), to: &parser)
        #expect(parser.hasStarted)
        try feed(Array("\nHTTP/1.1 204 N\r\n\r\n".utf8), to: &parser)
        #expect(parser.hasStarted)
        parser.begin(.other)
        #expect(!parser.hasStarted)
    }

    @Test("exchanges follow one another, and input between them is left alone")
    func pipeline() throws {
        var parser = HTTP1ResponseParser()
        let text = "HTTP/1.1 200 A\r\nContent-Length: 1\r\n\r\naHTTP/1.1 204 B\r\n\r\n"
        try Array(text.utf8).withUnsafeBytes {
            var input = $0
            parser.begin(.other)
            var reasons: [String] = []
            var counts: [Int] = []
            for _ in 0..<2 {
                while let event = try parser.next(&input) {
                    if case .head(let head, _) = event { reasons.append(head.reason) }
                }
                counts.append(input.count)
                parser.begin(.other)
            }
            #expect(reasons == ["A", "B"])
            #expect(counts == [18, 0])
        }
    }

    @Test("the end of the connection between exchanges makes no event")
    func endBetweenExchanges() throws {
        var parser = HTTP1ResponseParser()
        var hasEvent = try parser.inputEnded() != nil
        #expect(!hasEvent)
        parser.begin(.other)
        try feed(Array("HTTP/1.1 204 N\r\n\r\n".utf8), to: &parser)
        hasEvent = try parser.inputEnded() != nil
        #expect(!hasEvent)
    }

    @Test("after an error there are no more events")
    func errorStays() {
        var parser = HTTP1ResponseParser()
        parser.begin(.other)
        #expect(throws: HTTP1ParseError.malformedStatusLine) { try feed(Array("Nonsense\r\n\r\n".utf8), to: &parser) }
        #expect(throws: HTTP1ParseError.malformedStatusLine) {
            try feed(Array("HTTP/1.1 204 N\r\n\r\n".utf8), to: &parser)
        }
        #expect(throws: HTTP1ParseError.malformedStatusLine) { _ = try parser.inputEnded() }
        parser.begin(.other)
        #expect(throws: Never.self) { try feed(Array("HTTP/1.1 204 N\r\n\r\n".utf8), to: &parser) }
    }
}

func feed(_ bytes: [UInt8], to parser: inout HTTP1ResponseParser) throws {
    try bytes.withUnsafeBytes {
        var input = $0
        while try parser.next(&input) != nil {}
    }
}
