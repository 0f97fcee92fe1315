import LoadingProtocols
import LoadingSemantics
import Testing

/// CONNECT, and what proxies answer, honest and not.
@Suite struct ConnectTunnelTests {
    private let destination = ProxyDestination(traffic: .https, host: "server.example", port: 443)

    /// What came of an answer, and what was left of it.
    private struct Outcome: Equatable {
        var lines: [String] = []
        var rest = ""
    }

    private func line(_ event: ConnectTunnel.Event) -> String {
        switch event {
        case .open(let head): "open \(head.status)"
        case .challenged(let head): "challenged: \(head.fields.combinedValue("Proxy-Authenticate") ?? "nothing")"
        case .challengeEnded(let mayReuse): mayReuse ? "ended, reuse" : "ended"
        case .refused(let head): "refused \(head.status)"
        case .failed(let failure): "\(failure)"
        }
    }

    private func outcome(_ answer: [UInt8], cuts: [Int], limits: ConnectTunnelLimits, ends: Bool) throws -> Outcome {
        var tunnel = ConnectTunnel(to: destination, limits: limits)
        _ = try tunnel.request()
        var outcome = Outcome()
        var rest: [UInt8] = []
        var start = 0
        for cut in cuts + [answer.count] {
            let piece = Array(answer[start..<cut])
            start = cut
            piece.withUnsafeBytes { buffer in
                var input = buffer
                while let event = tunnel.next(&input) { outcome.lines.append(line(event)) }
                rest += input
            }
        }
        if ends, let event = tunnel.connectionEnded() { outcome.lines.append(line(event)) }
        // What follows a fault is ignored, and where the fault is detected depends on the pieces.
        if outcome.lines.last?.hasPrefix("malformed") != true { outcome.rest = String(decoding: rest, as: UTF8.self) }
        return outcome
    }

    /// In one piece, byte by byte, and with every cut in two: always the same, or the test fails.
    private func outcome(
        _ answer: String, limits: ConnectTunnelLimits = ConnectTunnelLimits(), ends: Bool = false
    ) throws -> Outcome {
        let bytes = Array(answer.utf8)
        let whole = try outcome(bytes, cuts: [], limits: limits, ends: ends)
        #expect(try outcome(bytes, cuts: Array(bytes.indices), limits: limits, ends: ends) == whole)
        if bytes.count < 1000 {
            for cut in bytes.indices {
                #expect(try outcome(bytes, cuts: [cut], limits: limits, ends: ends) == whole)
            }
        }
        return whole
    }

    // PROXY-5, PROXY-11: RFC 9110 §9.3.6
    @Test("the request has what the proxy needs, and nothing of the server's") func request() throws {
        var tunnel = ConnectTunnel(to: destination)
        #expect(
            String(decoding: try tunnel.request(), as: UTF8.self)
                == "CONNECT server.example:443 HTTP/1.1\r\nHost: server.example:443\r\n\r\n")
        #expect(
            String(decoding: try tunnel.request(userAgent: "a/1", authorization: "Basic dTpw"), as: UTF8.self)
                == """
                CONNECT server.example:443 HTTP/1.1\r
                Host: server.example:443\r
                Proxy-Authorization: Basic dTpw\r
                User-Agent: a/1\r
                \r

                """)
        var address = ConnectTunnel(to: ProxyDestination(traffic: .https, host: "2001:db8::1", port: 8443))
        #expect(
            String(decoding: try address.request(), as: UTF8.self)
                == "CONNECT [2001:db8::1]:8443 HTTP/1.1\r\nHost: [2001:db8::1]:8443\r\n\r\n")
    }

    // PROXY-11
    @Test("a value that would be two fields is not sent") func injection() {
        var tunnel = ConnectTunnel(to: destination)
        #expect(throws: HTTP1EncodingError.invalidFieldValue) { try tunnel.request(userAgent: "a\r\nCookie: b") }
        #expect(throws: HTTP1EncodingError.invalidFieldValue) { try tunnel.request(authorization: "a\nb") }
        for host in ["a b", "a\r\nb", "u@a", "a/b", "a#b", "ü"] {
            var tunnel = ConnectTunnel(to: ProxyDestination(traffic: .https, host: host, port: 1))
            #expect(throws: HTTP1EncodingError.invalidTarget) { try tunnel.request() }
        }
    }

    // PROXY-5: RFC 9110 §9.3.6
    @Test(
        "any 2xx opens the tunnel, whatever its fields say of a body",
        arguments: [
            ("HTTP/1.1 200 OK\r\n\r\n", "open 200", ""),
            ("HTTP/1.0 200 Connection established\r\n\r\nhi", "open 200", "hi"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "open 200", "hello"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n", "open 200", "5\r\n"),
            ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\na", "open 200", "a"),
            ("HTTP/1.1 204 N\r\n\r\na", "open 204", "a"),
            ("HTTP/1.1 299 N\n\na", "open 299", "a"), ("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "open 200", ""),
            (
                "HTTP/1.1 103 E\r\nLink: a\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 200 O\r\n\r\nHTTP/1.1 ", "open 200",
                "HTTP/1.1 "
            ),
        ])
    func opens(answer: String, expected: String, rest: String) throws {
        #expect(try outcome(answer) == Outcome(lines: [expected], rest: rest))
        #expect(try outcome(answer, ends: true) == Outcome(lines: [expected], rest: rest))
    }

    // AUTH-28
    @Test(
        "a challenge keeps its connection if that can be",
        arguments: [
            ("Content-Length: 4\r\n\r\nbody", "ended, reuse", ""), ("Content-Length: 0\r\n\r\n", "ended, reuse", ""),
            ("Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "ended, reuse", ""),
            ("Content-Length: 4\r\n\r\nbodyHTTP", "ended, reuse", "HTTP"),
            ("Content-Length: 4\r\nConnection: close\r\n\r\nbody", "ended", "body"),
            ("Content-Length: 4\r\nProxy-Connection: Close\r\n\r\nbody", "ended", "body"),
            ("\r\nbody until the end", "ended", "body until the end"),
            ("Content-Length: 65537\r\n\r\nbody", "ended", "body"),
            ("Transfer-Encoding: chunked\r\n\r\nx\r\nrest", "ended", "\r\nrest"),
        ])
    func challenges(answer: String, end: String, rest: String) throws {
        let head = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"a\"\r\n"
        let outcome = try outcome(head + answer)
        #expect(outcome.lines == ["challenged: Basic realm=\"a\"", end])
        #expect(outcome.rest == rest)
    }

    // AUTH-28
    @Test("HTTP/1.0 keeps its connection only with keep-alive") func firstVersion() throws {
        let head = "HTTP/1.0 407 P\r\nContent-Length: 1\r\n"
        #expect(try outcome(head + "\r\na").lines == ["challenged: nothing", "ended"])
        #expect(
            try outcome(head + "Connection: keep-alive\r\n\r\na").lines == ["challenged: nothing", "ended, reuse"])
    }

    // AUTH-28
    @Test("a challenge is read away within a bound", arguments: [-1, 0, 1])
    func bound(excess: Int) throws {
        let head = "HTTP/1.1 407 P\r\n"
        let limits = ConnectTunnelLimits(maximumChallengeLength: 20)
        let body = String(repeating: "a", count: 20 + excess)
        #expect(
            try outcome(head + "Content-Length: \(body.count)\r\n\r\n\(body)", limits: limits).lines
                == ["challenged: nothing", excess > 0 ? "ended" : "ended, reuse"])
        // The framing of one chunk and of the last take ten.
        let chunk = String(10 + excess, radix: 16) + "\r\n" + String(repeating: "a", count: 10 + excess) + "\r\n"
        #expect(
            try outcome(head + "Transfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\r\n", limits: limits).lines
                == ["challenged: nothing", excess > 0 ? "ended" : "ended, reuse"])
        // Chunks that hold next to nothing count as what they take.
        let framing = "1;" + String(repeating: "x", count: 30) + "\r\na\r\n0\r\n\r\n"
        #expect(
            try outcome(head + "Transfer-Encoding: chunked\r\n\r\n" + framing, limits: limits).lines
                == ["challenged: nothing", "ended"])
    }

    // AUTH-28
    @Test("after a challenge another request goes the same way") func again() throws {
        var tunnel = ConnectTunnel(to: destination)
        _ = try tunnel.request()
        let lines = { (answer: String) in
            var lines: [String] = []
            Array(answer.utf8).withUnsafeBytes { buffer in
                var input = buffer
                while let event = tunnel.next(&input) { lines.append(line(event)) }
            }
            return lines
        }
        let challenge = "HTTP/1.1 407 P\r\nProxy-Authenticate: Negotiate\r\nContent-Length: 1\r\n\r\na"
        #expect(lines(challenge) == ["challenged: Negotiate", "ended, reuse"])
        // Nothing is awaited now.
        #expect(lines("HTTP/1.1 200 OK\r\n\r\n") == [])
        #expect(tunnel.connectionEnded() == nil)
        let request = String(decoding: try tunnel.request(authorization: "Negotiate YQ=="), as: UTF8.self)
        #expect(request.contains("\r\nProxy-Authorization: Negotiate YQ==\r\n"))
        #expect(lines(challenge) == ["challenged: Negotiate", "ended, reuse"])
        _ = try tunnel.request(authorization: "Negotiate Yg==")
        #expect(lines("HTTP/1.1 200 OK\r\n\r\n") == ["open 200"])
        #expect(lines("HTTP/1.1 407 P\r\n\r\n") == [])
    }

    // PROXY-10
    @Test(
        "any other answer is a refusal, wherever it leads",
        arguments: [300, 301, 302, 307, 308, 400, 401, 403, 404, 405, 426, 429, 500, 502, 503, 504, 511, 600, 999])
    func refusals(status: Int) throws {
        let answer =
            "HTTP/1.1 \(status) N\r\nLocation: https://evil.example/\r\nSet-Cookie: a=b\r\nContent-Length: 1\r\n\r\na"
        #expect(try outcome(answer).lines == ["refused \(status)"])
        #expect(try outcome(answer, ends: true).lines == ["refused \(status)"])
    }

    // PROXY-10
    @Test(
        "what is no answer",
        arguments: [
            "SSH-2.0-x\r\n", "\u{5}\u{0}", "HTTP/2 200\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\n: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA\r\n\r\n", "HTTP/1.1 101 S\r\n\r\n", "<html>",
            "HTTP/1.1 403 F\r\nContent-Length: x\r\n\r\n",
            String(repeating: "\r\n", count: 40), String(repeating: "HTTP/1.1 100 C\r\n\r\n", count: 40),
        ])
    func garbage(answer: String) throws {
        let lines = try outcome(answer, ends: true).lines
        #expect(lines.count == 1 && lines[0].hasPrefix("malformedTunnelResponse"))
    }

    // CONN-28, PROXY-10: RFC 9112 §2.2. Another parser might see a field, a challenge or a tunnel behind the CR
    @Test(
        "a CR without LF in the head of any answer", arguments: ["200 OK", "403 Forbidden", "407 P", "103 E"],
        [
            // In and around the status line
            "\rHTTP/1.1 STATUS\r\nA: b\r\n\r\n", "HTTP/1.1\rSTATUS\r\nA: b\r\n\r\n",
            "HTTP/1.1 STATUS\rX\r\nA: b\r\n\r\n", "HTTP/1.1 STATUS\r\r\nA: b\r\n\r\n",
            // In fields, the first, one in the middle and the last
            "HTTP/1.1 STATUS\r\nA\rB: c\r\nD: e\r\n\r\n", "HTTP/1.1 STATUS\r\nA:\rb\r\nD: e\r\n\r\n",
            "HTTP/1.1 STATUS\r\nA: b\r\nC: d\rProxy-Authenticate: Basic realm=\"a\"\r\nE: f\r\n\r\n",
            "HTTP/1.1 STATUS\r\nA: b\r\nC: d\r\r\n\r\n", "HTTP/1.1 STATUS\r\nA: b\r c\r\n\r\n",
            // For line ends, and for the end of the head
            "HTTP/1.1 STATUS\rA: b\r\rx", "HTTP/1.1 STATUS\r\nA: b\r\rx", "HTTP/1.1 STATUS\r\nA: b\r\n\rx",
        ])
    func bareCarriageReturn(status: String, template: String) throws {
        let answer = template.replacing("STATUS", with: status)
        #expect(try outcome(answer).lines == ["malformedTunnelResponse(\"bareCarriageReturn\")"])
    }

    // CONN-28, AUTH-28: the challenge is known by then, but not where the next answer would begin
    @Test(
        "a CR without LF behind the head of a challenge gives its connection up",
        arguments: ["0\r\nA: b\rC: d\r\n\r\n", "0\r\nA: b\r\n\rHTTP", "1\rx\r\n0\r\n\r\n"])
    func bareCarriageReturnInBody(body: String) throws {
        let head = "HTTP/1.1 407 P\r\nProxy-Authenticate: Basic realm=\"a\"\r\nTransfer-Encoding: chunked\r\n\r\n"
        let bytes = Array((head + body).utf8)
        for cuts in [[], Array(bytes.indices)] {
            let lines = try outcome(bytes, cuts: cuts, limits: ConnectTunnelLimits(), ends: false).lines
            #expect(lines == ["challenged: Basic realm=\"a\"", "ended"])
        }
    }

    // PROXY-10
    @Test("a head without end") func endlessHead() throws {
        let limits = ConnectTunnelLimits(response: HTTP1Limits(maximumHeadLength: 256, maximumFieldCount: 4))
        let long = "HTTP/1.1 200 OK\r\nA: " + String(repeating: "a", count: 1 << 16)
        #expect(try outcome(long, limits: limits).lines == ["malformedTunnelResponse(\"headTooLong\")"])
        let many = "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: 5) + "\r\n"
        #expect(try outcome(many, limits: limits).lines == ["malformedTunnelResponse(\"tooManyFields\")"])
    }

    // PROXY-10
    @Test("a connection that ends before the answer does") func ends() throws {
        let answer = "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"
        for length in 0..<answer.utf8.count {
            let start = String(decoding: answer.utf8.prefix(length), as: UTF8.self)
            #expect(try outcome(start, ends: true).lines == ["tunnelLost"])
        }
        let challenge = "HTTP/1.1 407 P\r\nContent-Length: 4\r\n\r\nbod"
        #expect(try outcome(challenge, ends: true).lines == ["challenged: nothing", "ended"])
    }
}
