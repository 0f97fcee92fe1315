import LoadingProtocols
import Testing

/// Replies of FTP servers, honest and not.
@Suite struct FTPReplyParserTests {
    private struct Outcome: Equatable {
        var replies: [String] = []
        var failure: FTPFailure?
    }

    private func outcome(_ text: String, piece: Int, limits: FTPLimits = FTPLimits()) -> Outcome {
        var outcome = Outcome()
        var parser = FTPReplyParser(limits: limits)
        let bytes = Array(text.utf8)
        do throws(FTPFailure) {
            for start in stride(from: 0, to: bytes.count, by: piece) {
                try feed(Array(bytes[start..<min(start + piece, bytes.count)]), to: &parser, &outcome)
            }
        } catch {
            outcome.failure = error
        }
        return outcome
    }

    private func feed(
        _ bytes: [UInt8], to parser: inout FTPReplyParser, _ outcome: inout Outcome
    ) throws(FTPFailure) {
        // The standard library's closures know no typed errors.
        var failure: FTPFailure?
        bytes.withUnsafeBytes { buffer in
            var input = buffer
            do throws(FTPFailure) {
                while let reply = try parser.next(&input) {
                    outcome.replies.append("\(reply.code)|\(String(decoding: reply.text, as: UTF8.self))")
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    // MISC-17: RFC 959 §4.2
    @Test(
        "replies",
        arguments: [
            ("220 hello\r\n", ["220|hello"]), ("220 hello\n", ["220|hello"]), ("220\r\n", ["220|"]),
            ("220 \r\n", ["220|"]),
            ("331 a\r\n230 b\r\n", ["331|a", "230|b"]), ("220-a\r\n220 b\r\n", ["220|b"]),
            ("220-a\r\nb\r\n220 c\r\n", ["220|c"]),
            ("220-a\r\n220-b\r\n 220 c\r\n230 d\r\n220 e\r\n", ["220|e"]), ("220-\r\n\r\n220\r\n", ["220|"]),
            ("220-a\r\n2200 b\r\n220 c\r\n", ["220|c"]), ("220 half", []), ("220-a\r\nb", []),
            ("599 x\r\n100 y\r\n", ["599|x", "100|y"]), ("", []),
            // A welcome from a file with CRLF
            ("220-a\r\r\n220 b\r\r\n", ["220|b"]),
        ])
    func replies(text: String, expected: [String]) {
        for piece in [1, 2, 5, 1000] {
            #expect(outcome(text, piece: piece) == Outcome(replies: expected))
        }
    }

    // MISC-17, ERR-7
    @Test(
        "what is no reply",
        arguments: [
            "hello\r\n", "\r\n", "22 x\r\n", "2200 x\r\n", "220x\r\n", "020 x\r\n", "620 x\r\n", "a20 x\r\n",
            "2a0 x\r\n",
            "HTTP/1.1 200 OK\r\n", "SSH-2.0-x\r\n", " 220 x\r\n", "\u{0}220 x\r\n", "220_x\r\n",
            // A CR that another reader may take for the end of a line
            "220 x\r230 y\r\n", "220 \rx\n", "220\r x\r\n", "\r220 x\r\n", "220-x\ry\r\n220 z\r\n",
        ])
    func whatIsNoReply(text: String) {
        for piece in [1, 3, 1000] {
            #expect(outcome(text, piece: piece) == Outcome(failure: .malformedReply))
        }
        #expect(outcome("220 a\r\n" + text, piece: 4) == Outcome(replies: ["220|a"], failure: .malformedReply))
    }

    // MISC-17
    @Test("limits") func limits() {
        var limits = FTPLimits()
        limits.maximumLineLength = 8
        limits.maximumLineCount = 3
        for piece in [1, 3, 1000] {
            #expect(outcome("220 abc\r\n", piece: piece, limits: limits) == Outcome(replies: ["220|abc"]))
            #expect(outcome("220 abcde\r\n", piece: piece, limits: limits) == Outcome(failure: .lineTooLong))
            #expect(outcome("220 abcdefghijk", piece: piece, limits: limits) == Outcome(failure: .lineTooLong))
            #expect(
                outcome("220-a\r\nb\r\n220 c\r\n220 d\r\n", piece: piece, limits: limits)
                    == Outcome(replies: ["220|c", "220|d"]))
            #expect(
                outcome("220-a\r\nb\r\nc\r\n220 d\r\n", piece: piece, limits: limits) == Outcome(failure: .tooManyLines)
            )
        }
    }

    @Test("a failure stays") func aFailureStays() {
        var parser = FTPReplyParser()
        var first = Outcome()
        #expect(throws: FTPFailure.malformedReply) { try feed(Array("x\r\n".utf8), to: &parser, &first) }
        #expect(throws: FTPFailure.malformedReply) { try feed(Array("220 x\r\n".utf8), to: &parser, &first) }
        #expect(first.replies == [])
    }
}
