import LoadingProtocols
import LoadingSemantics
import TestSupport
import Testing

private typealias F = HTTP3Frames

/// What a server may say on the streams, right and wrong.
@Suite("HTTP/3 on its streams", .needsHTTP3)
struct HTTP3PeerTests {
    // MARK: What is right

    @Test("a response with a body, however it is cut", arguments: [1, 2, 3, 7, 1_000])
    func response(cut: Int) {
        let client = HTTP3Client.withRequests(1)
        let head = F.head(200, [("content-type", "text/plain"), ("x", "a b")])
        let bytes = head + F.data("hel") + F.data("lo")
        for start in stride(from: 0, to: bytes.count, by: cut) {
            client.receive(Array(bytes[start..<min(start + cut, bytes.count)]))
        }
        client.receive([], isLast: true)
        #expect(
            client.takeLines() == [
                "0 head 200 (\(head.count)) | content-type=text/plain | x=a b", "0 body hello", "0 ended",
                "0 closed",
            ])
        #expect(client.session.openStreamCount == 0)
    }

    @Test("interim responses come before the final one, and trailers are dropped")
    func interim() {
        let client = HTTP3Client.withRequests(1)
        client.receive(F.head(103, [("link", "a")]) + F.head(200) + F.data("x"))
        client.receive(F.headers([("checksum", "1")]), isLast: true)
        let lines = client.takeLines()
        #expect(lines.count == 5)
        #expect(lines.first?.hasPrefix("0 interim 103") == true)
        #expect(lines.suffix(3) == ["0 body x", "0 ended", "0 closed"])
    }

    @Test("unknown settings, frames and streams are ignored")
    func unknown() {
        let client = HTTP3Client()
        client.receive(F.control([(0x21, 5), (0x1F * 7 + 0x21, 1), (0x33, 1)]) + F.frame(0x21, [1, 2, 3]), on: 3)
        client.receive(F.number(0x21) + [1, 2, 3, 4], on: 15)
        client.receive([5], isLast: true, on: 15)
        client.submit()
        _ = client.takeAll()
        client.receive(F.frame(0x21, [9, 9]) + F.head(204) + F.frame(0x40), isLast: true)
        #expect(client.takeLines().map { $0.prefix(10) } == ["0 head 204", "0 ended", "0 closed"])
    }

    @Test("a section that waits for the table is delivered when the table has its entry")
    func blocked() {
        let client = HTTP3Client.withRequests(2)
        client.receive(F.frame(1, F.sectionNeeding(1, indices: [0])) + F.data("late"), isLast: true)
        client.receive(F.head(200), isLast: true, on: 4)
        #expect(client.takeLines().map { $0.prefix(10) } == ["4 head 200", "4 ended", "4 closed"])
        let credit = client.session.credit(of: nil)
        client.receive([2] + F.capacity(4_096) + F.insertion("color", "blue"), on: 7)
        let lines = client.takeLines()
        #expect(lines.first?.hasSuffix("| color=blue") == true)
        #expect(lines.dropFirst() == ["0 body late", "0 ended", "0 closed"])
        #expect(client.session.credit(of: nil) > credit)
    }

    // MARK: Bodies

    @Test("a request with a body goes out as it comes, and its progress is reported")
    func upload() {
        let client = HTTP3Client.withRequests(0)
        client.writesSending = true
        let stream = client.submit("POST", body: [.bytes(100_000, isLast: false), .later])
        let sent = client.takeAll()[stream]?.count ?? 0
        #expect(sent > 100_000)
        client.bodies[stream] = [.bytes(5, isLast: true)]
        client.session.resumeBody(of: stream)
        #expect(client.takeAll()[stream]?.count == 7)
        let lines = client.takeLines()
        #expect(lines.first?.hasPrefix("0 sent head") == true)
        #expect(
            lines.dropFirst() == [
                "0 sent body 65536 65541", "0 sent body 34464 34469", "0 sent body 5 7", "0 sent",
            ])
        // The response may come and end the stream.
        client.receive(F.head(200), isLast: true)
        #expect(client.takeLines().last == "0 closed")
    }

    @Test("a body that is empty, one that is asked for again inside, and one that fails")
    func oddBodies() {
        let client = HTTP3Client.withRequests(0)
        client.writesSending = true
        client.submit("POST", body: [.bytes(0, isLast: true)])
        _ = client.takeAll()
        #expect(client.takeLines().last == "0 sent")
        client.submit("POST", body: [.failed])
        _ = client.takeAll()
        #expect(client.takeLines().last == "4 closed cancelled")
    }

    @Test("the peer wants no more of a body, and answers")
    func stopped() {
        let client = HTTP3Client.withRequests(0)
        let stream = client.submit("POST", body: [.bytes(10, isLast: false), .later])
        _ = client.takeAll()
        client.receiveStop(.noError, on: stream)
        client.receive(F.head(200) + F.data("ok"), isLast: true)
        #expect(client.takeLines().suffix(2) == ["0 ended", "0 closed"])
    }

    // MARK: Resets

    @Test("a reset is reported with the request's progress")
    func resets() {
        let client = HTTP3Client.withRequests(4)
        client.receiveReset(.requestRejected, on: 0)
        client.receiveReset(.versionFallback, on: 4)
        client.receiveReset(.internalError, on: 8)
        client.receive(F.head(200) + F.data("x"), on: 12)
        client.receiveReset(.requestRejected, on: 12)
        #expect(
            client.takeLines() == [
                "0 closed refused", "4 closed http11Required",
                "8 closed reset(code: 258, after: \(progress("sent")))",
                "12 head 200 (\(F.head(200).count))", "12 body x",
                "12 closed reset(code: 267, after: \(progress("answered")))",
            ])
    }

    private func progress(_ name: String) -> String { "LoadingSemantics.LostExchange.Progress.\(name)" }

    @Test("a stream that is reset here is closed with the next output, and the peer gets a reset")
    func cancelled() {
        let client = HTTP3Client.withRequests(1)
        client.consumes = false
        client.receive(F.head(200) + F.data("abc"))
        client.session.reset(0)
        #expect(client.session.resetCode(of: 0) == .requestCancelled)
        _ = client.takeAll()
        #expect(client.takeLines().last == "0 closed cancelled")
        client.receive(F.data("def"))
        #expect(client.takeLines() == [])
        #expect(client.session.openStreamCount == 0)
    }

    @Test("a reset from inside an event")
    func cancelledInside() {
        let client = HTTP3Client.withRequests(2)
        client.reaction = { client, line in
            if line.hasPrefix("0 head") { client.session.reset(0) }
            if line.hasPrefix("0 closed") { client.submit() }
        }
        client.receive(F.head(200) + F.data("abc"), isLast: true)
        #expect(
            client.takeLines().map { $0.prefix(18) } == ["0 head 200 (\(F.head(200).count))", "0 closed cancelled"])
        client.receive(F.head(200), isLast: true, on: 4)
        #expect(client.takeLines().last == "4 closed")
        #expect(client.session.openStreamCount == 1)
    }

    @Test("a GOAWAY refuses requests that were not processed")
    func goingAway() {
        let client = HTTP3Client.withRequests(3)
        client.receive(F.goAway(4), on: 3)
        let lines = client.takeLines()
        #expect(lines.first == "going away after 0")
        #expect(lines.dropFirst().sorted() == ["4 closed refused", "8 closed refused"])
        #expect(client.session.isGoingAway && !client.session.mayOpenStream)
        #expect(client.submit() == -1)
        _ = client.takeLines()
        client.receive(F.head(200), isLast: true)
        #expect(client.takeLines().last == "0 closed")
        client.receive(F.goAway(8), on: 3)
        #expect(client.takeLines().first?.hasPrefix("error violation(code: 264") == true)
    }

    // CONN-4: a server that contradicts itself has processed what it has answered
    @Test("a GOAWAY that excludes an answered request resets it")
    func goAwayExcludesAnsweredRequest() {
        let client = HTTP3Client.withRequests(2)
        client.receive(F.head(103), on: 4)
        _ = client.takeLines()
        client.receive(F.goAway(0), on: 3)
        let lines = client.takeLines()
        #expect(lines.contains("0 closed refused"))
        #expect(lines.contains { $0.hasPrefix("4 closed reset") }, "\(lines)")
    }

    // MARK: Responses that are none

    @Test(
        "a response that breaks a rule of HTTP ends its stream alone",
        arguments: [
            ("without a status", F.headers([("a", "b")])),
            ("with a name in upper case", F.head(200, [("Content-Type", "x")])),
            ("with a connection's own field", F.head(200, [("connection", "close")])),
            ("with a transfer coding", F.head(200, [("transfer-encoding", "chunked")])),
            ("with two statuses", F.headers([(":status", "200"), (":status", "200")])),
            ("with a request's field", F.headers([(":status", "200"), (":path", "/")])),
            ("with a status that is none", F.headers([(":status", "20")])),
            ("with a status behind the fields", F.headers([("a", "b"), (":status", "200")])),
            ("with two lengths", F.head(200, [("content-length", "1"), ("content-length", "2")])),
            ("with a length that is none", F.head(200, [("content-length", "-1")])),
            // CONN-27
            ("with an empty member behind the length", F.head(200, [("content-length", "30,")])),
            ("with an empty member before the length", F.head(200, [("content-length", ",30")])),
            ("with 101", F.head(101)),
            ("longer than it says", F.head(200, [("content-length", "2")]) + F.data("abc")),
        ])
    func malformed(_ name: String, _ bytes: [UInt8]) {
        let client = HTTP3Client.withRequests(2)
        client.receive(bytes)
        let lines = client.takeLines()
        #expect(lines.last?.hasPrefix("0 closed malformed") == true, "\(name): \(lines)")
        client.receive(F.head(200), isLast: true, on: 4)
        #expect(client.takeLines().last == "4 closed")
    }

    /// Fields that nghttp3 takes out without a word.
    private static let invalidFields: [(name: String, value: String)] = [
        ("a", "b\nc"), ("a", "b\rc"), ("a", "b\r\nset-cookie: c=d"), ("a", "b\0c"), ("a", "b\u{1}c"),
        ("a", "b\u{7F}"),
        ("a", " b"), ("a", "b\t"), ("a", " "), ("a b", "c"), ("", "c"), ("a\nb", "c"), ("a:", "b"),
    ]

    // RFC 9114 §4.1.2, §10.3; RFC 9110 §5.5
    @Test("a field that holds what no field may", arguments: invalidFields)
    func invalidField(name: String, value: String) {
        let field = (name, value)
        let interim = F.head(103, [("link", "</a>")])
        malformed("alone", F.head(200, [field]))
        malformed("among others", F.head(200, [("c", "d"), field, ("e", "f"), field]))
        malformed("after an interim response", interim + F.head(200, [field]))
        malformed("in an interim response", F.head(103, [("link", "</a>"), field]) + F.head(200))
        malformed("in trailers", F.head(200) + F.data("x") + F.headers([field]))
        malformed("of a 204", F.head(204, [("content-length", "0"), field]))
    }

    // The same in Huffman's code, with a name of the static table (92: server), and with a number that does not end
    @Test("a field that holds what no field may, in other forms")
    func invalidForms() {
        let status: [UInt8] = F.section([(":status", "200")])
        let coded: [UInt8] = [0x21, 0x61, 0x84, 0xFF, 0xFF, 0xFF, 0xF3]
        let named: [UInt8] = [0x5F, 77, 1, 0x0A]
        let endless: [UInt8] = [0xFF] + [UInt8](repeating: 0x80, count: 20)
        for field in [coded, named] { malformed("\(field)", F.frame(1, status + field)) }
        let client = HTTP3Client.withRequests(1)
        client.receive(F.frame(1, status + endless))
        #expect(client.takeLines().allSatisfy { $0.hasPrefix("error") || $0.hasPrefix("0 closed") })
    }

    // RFC 9114 §4.1.2: however it is cut, and what came before is delivered
    @Test("a field that is none, byte by byte", arguments: [1, 2, 3, 7, 1_000]) func malformedInPieces(cut: Int) {
        let client = HTTP3Client.withRequests(1)
        let bytes =
            F.head(103, [("link", "</a>")]) + F.frame(0x21, [1, 2, 3]) + F.head(200, [("a", "b\nc")]) + F.data("x")
        for start in stride(from: 0, to: bytes.count, by: cut) {
            client.receive(Array(bytes[start..<min(start + cut, bytes.count)]))
        }
        let lines = client.takeLines()
        #expect(lines.count == 2)
        #expect(lines.first?.hasSuffix("| link=</a>") == true)
        #expect(lines.last == "0 closed malformed(\"A field holds what no field may.\")")
    }

    // What nghttp3 takes out of such sections is nothing that is missed.
    @Test("a length where none is meant", arguments: [1, 1_000]) func lengths(cut: Int) {
        let all: [([UInt8], [String])] = [
            (F.head(204, [("content-length", "0"), ("a", "b")]), ["0 head 204", "0 ended", "0 closed"]),
            // By the static table
            (F.frame(1, F.section([(":status", "204")]) + [0xC4]), ["0 head 204", "0 ended", "0 closed"]),
            (
                F.head(103, [("content-length", "5")]) + F.head(200)
                    + F.headers([("content-length", "7"), ("a", "b")]),
                ["0 interim", "0 head 200", "0 ended", "0 closed"]
            ),
        ]
        for (bytes, expected) in all {
            let client = HTTP3Client.withRequests(1)
            for start in stride(from: 0, to: bytes.count, by: cut) {
                let end = min(start + cut, bytes.count)
                client.receive(Array(bytes[start..<end]), isLast: end == bytes.count)
            }
            let lines = client.takeLines()
            #expect(lines.count == expected.count, "\(lines)")
            #expect(zip(lines, expected).allSatisfy { $0.hasPrefix($1) }, "\(lines)")
        }
    }

    @Test("a field of the table that is none", arguments: [true, false]) func malformedInTheTable(isLate: Bool) {
        let client = HTTP3Client.withRequests(3)
        let table = [2] + F.capacity(4_096) + F.insertion("a", "b\nc") + F.insertion("d", "e")
        if !isLate { client.receive(table, on: 7) }
        client.receive(F.frame(1, F.sectionNeeding(2, indices: [1])) + F.data("x"), isLast: true)
        client.receive(F.head(103) + F.frame(1, F.sectionNeeding(2, indices: [0])), isLast: true, on: 4)
        client.receive(
            F.frame(1, F.sectionNeeding(2, indices: [0])) + F.headers([("f", "\0")]), isLast: true, on: 8)
        if isLate { client.receive(table, on: 7) }
        let lines = client.takeLines()
        let malformed = "closed malformed(\"A field holds what no field may.\")"
        #expect(lines.filter { $0.hasPrefix("0 ") } == ["0 \(malformed)"])
        #expect(
            lines.contains { $0.hasPrefix("4 head 200") && $0.contains("| d=e") } && lines.contains("4 closed"))
        #expect(lines.last { $0.hasPrefix("8 ") } == "8 \(malformed)")
    }

    // CONN-27
    @Test("a response that is shorter than it says", arguments: [1, 4, 1_000])
    func short(cut: Int) {
        for (bytes, body) in [
            (F.data("abc"), ["0 body abc"]), (F.data("a") + F.data("bc") + F.headers([("a", "b")]), ["0 body abc"]),
            (F.data(""), []), ([], []),
        ] {
            let client = HTTP3Client.withRequests(1)
            let bytes = F.head(200, [("content-length", "4")]) + bytes
            for start in stride(from: 0, to: bytes.count, by: cut) {
                let end = min(start + cut, bytes.count)
                client.receive(Array(bytes[start..<end]), isLast: end == bytes.count)
            }
            #expect(Array(client.takeLines().dropFirst()) == body + ["0 closed truncated"])
        }
    }

    @Test("a response that is longer than it says, to its end") func long() {
        let client = HTTP3Client.withRequests(1)
        client.receive(F.head(200, [("content-length", "2")]) + F.data("abc"), isLast: true)
        #expect(client.takeLines().last?.hasPrefix("0 closed malformed") == true)
    }

    @Test("a response that ends before its head")
    func headless() {
        let client = HTTP3Client.withRequests(3)
        client.receive(F.head(100), isLast: true, on: 4)
        #expect(client.takeLines().last?.hasPrefix("4 closed malformed") == true)
        client.receive([], isLast: true, on: 8)
        #expect(client.takeLines().last?.hasPrefix("8 closed malformed") == true)
    }

    @Test("a response to HEAD, and one that may not have a body")
    func withoutBody() {
        let client = HTTP3Client.withRequests(0)
        client.submit("HEAD")
        client.submit()
        _ = client.takeAll()
        client.receive(F.head(200, [("content-length", "100")]), isLast: true)
        client.receive(F.head(304, [("content-length", "100")]), isLast: true, on: 4)
        #expect(client.takeLines().filter { $0.hasSuffix("closed") } == ["0 closed", "4 closed"])
    }

    // MARK: Limits

    @Test("fields that are too many or too long end their stream, far too many the connection")
    func longHead() {
        let limits = HTTPStreamLimits(maximumHeadLength: 1_000, maximumFieldCount: 10)
        let client = HTTP3Client.withRequests(4, limits: limits)
        client.receive(F.head(200, [("a", String(repeating: "x", count: 1_000))]))
        #expect(client.takeLines() == ["0 closed malformed(\"The fields are too many or too long.\")"])
        client.receive(F.head(200, Array(repeating: ("a", "b"), count: 11)), on: 4)
        #expect(client.takeLines() == ["4 closed malformed(\"The fields are too many or too long.\")"])
        client.receive(F.head(200) + F.headers(Array(repeating: ("a", "b"), count: 11)), isLast: true, on: 8)
        #expect(client.takeLines().last == "8 closed malformed(\"The fields are too many or too long.\")")
        client.receive(F.head(200, Array(repeating: ("a", "b"), count: 44)), on: 12)
        #expect(client.takeLines() == ["error flood(LoadingProtocols.HTTP3Flood.headerList)"])
    }

    @Test("a section of one entry of the table, again and again, ends the connection")
    func bomb() {
        let client = HTTP3Client.withRequests(1)
        let value = String(repeating: "x", count: 3_000)
        client.receive([2] + F.capacity(4_096) + F.insertion("a", value), on: 7)
        client.receive(F.frame(1, F.sectionNeeding(1, indices: Array(repeating: 0, count: 1_000))))
        #expect(client.takeLines() == ["error flood(LoadingProtocols.HTTP3Flood.headerList)"])
    }

    @Test("a section that is announced with a length beyond all bounds")
    func announced() {
        let client = HTTP3Client.withRequests(1)
        client.receive([1] + F.number(1 << 40) + [0, 0])
        #expect(client.takeLines() == ["error flood(LoadingProtocols.HTTP3Flood.headerList)"])
    }

    @Test("more sections that wait for the table than may")
    func manyBlocked() {
        let client = HTTP3Client.withRequests(20)
        var errors = 0
        for stream in 0..<20 {
            client.receive(F.frame(1, F.sectionNeeding(5, indices: [0])), on: Int64(4 * stream))
            errors += client.takeLines().count { $0.hasPrefix("error") }
            if errors > 0 {
                #expect(stream == 16)
                break
            }
        }
        #expect(errors == 1)
    }

    @Test("sections that wait for ever can be cancelled, and cost the connection no window")
    func blockedForEver() {
        let client = HTTP3Client.withRequests(8)
        for stream in 0..<8 {
            client.receive(F.frame(1, F.sectionNeeding(5, indices: [0])), on: Int64(4 * stream))
            client.receive(F.data([UInt8](repeating: 1, count: 10_000)), on: Int64(4 * stream))
        }
        for stream in 0..<8 { client.session.reset(Int64(4 * stream)) }
        _ = client.takeAll()
        #expect(client.takeLines().count == 8)
        client.submit()
        _ = client.takeAll()
        client.receive(F.head(200), isLast: true, on: 32)
        #expect(client.takeLines().last == "32 closed")
    }

    @Test("interim responses without end")
    func manyInterim() {
        let client = HTTP3Client.withRequests(1, limits: HTTPStreamLimits(maximumInformationalResponses: 3))
        for _ in 0..<4 { client.receive(F.head(103)) }
        let lines = client.takeLines()
        #expect(lines.count == 4)
        #expect(lines.last == "0 closed malformed(\"There are too many interim responses.\")")
    }

    @Test(
        "frames that bring no request further, without end",
        arguments: [F.frame(0), F.frame(0x21), F.frame(0x21, [1, 2, 3])])
    func flood(_ frame: [UInt8]) {
        let client = HTTP3Client.withRequests(1)
        client.receive(F.head(200))
        let datagram = Array(repeatElement(frame, count: 400).joined())
        var count = 0
        while client.lines.count < 2, count < 10_000 {
            client.receive(datagram)
            count += 1
        }
        #expect(client.takeLines().last == "error flood(LoadingProtocols.HTTP3Flood.idle)")
        #expect(count < 500)
    }

    @Test("a table that is filled anew for each response is no flood, and one that is filled for none is one")
    func insertions() {
        let client = HTTP3Client.withRequests(0)
        client.receive([2] + F.capacity(4_096), on: 7)
        let filling = Array(repeatElement(F.insertion("a", String(repeating: "x", count: 900)), count: 4).joined())
        for index in 0..<500 {
            client.submit()
            _ = client.takeAll()
            client.receive(filling, on: 7)
            client.receive(F.head(200), isLast: true, on: Int64(4 * index))
        }
        #expect(client.takeLines().count { $0.hasSuffix(" closed") } == 500)
        var count = 0
        while client.lines.isEmpty, count < 1_000 {
            client.receive(filling, on: 7)
            count += 1
        }
        #expect(client.takeLines() == ["error flood(LoadingProtocols.HTTP3Flood.idle)"])
        #expect(count < 100)
    }

    // S-7: a response may be silent for days, and the connection is then checked every few seconds
    @Test("the answers to PINGs are no flood") func pingAnswers() {
        let client = HTTP3Client.withRequests(1)
        client.receive(F.head(200))
        _ = client.takeLines()
        for _ in 0..<20_000 {
            client.session.ping()
            // As a datagram with nothing but an acknowledgement.
            client.receive([])
        }
        #expect(client.takeLines() == [])
    }

    // S-42: what the window let the server send before it got the reset
    @Test("datagrams of what was cancelled are no flood") func cancelledData() {
        let client = HTTP3Client.withRequests(0)
        for _ in 0..<50 {
            let stream = client.submit()
            _ = client.takeAll()
            client.receive(F.head(200), on: stream)
            client.session.reset(stream)
            for _ in 0..<1_000 { client.receive(F.data([UInt8](repeating: 0, count: 1_000)), on: stream) }
            _ = client.takeAll()
        }
        #expect(client.takeLines().count { $0.hasSuffix(" closed cancelled") } == 50)
        #expect(client.session.openStreamCount == 0)
    }

    @Test("a long body in small pieces is no flood, alone or many in a datagram", arguments: [1, 100])
    func longBody(together: Int) {
        let client = HTTP3Client.withRequests(1)
        client.receive(F.head(200))
        let datagram = Array(repeatElement(F.data("x"), count: together).joined())
        for _ in 0..<max(30_000 / together, 1_000) { client.receive(datagram) }
        client.receive([], isLast: true)
        #expect(client.takeLines().last == "0 closed")
    }

    // MARK: A peer that breaks the connection

    @Test(
        "what breaks a rule of the connection ends it",
        arguments: [
            ("settings twice", 3, F.settings(), HTTP3ErrorCode.frameUnexpected),
            ("data on the control stream", 3, F.data("x"), .frameUnexpected),
            ("fields on the control stream", 3, F.headers([("a", "b")]), .frameUnexpected),
            ("a frame that HTTP/2 had", 3, F.frame(6), .frameUnexpected),
            ("a GOAWAY for no request", 3, F.goAway(1), .idError),
            ("a push that was not asked for", 3, F.frame(3, [0]), .frameUnexpected),
            ("data before the head", 0, F.data("x"), .frameUnexpected),
            ("settings on a request", 0, F.settings(), .frameUnexpected),
            ("a promise", 0, F.frame(5, [0, 0, 0]), .frameUnexpected),
            ("a pushed stream", 15, [1, 0], .streamCreationError),
            ("a second control stream", 15, F.control(), .streamCreationError),
            ("a section that cannot be read", 0, F.frame(1, [0xFF, 0xFF, 0xFF]), .decompressionFailed),
            ("an entry that is not there", 0, F.frame(1, [0, 0, 0x80]), .decompressionFailed),
            ("a table larger than allowed", 7, [2] + F.capacity(1 << 20), .encoderStreamError),
            ("an acknowledgement of nothing", 11, [3, 0x80 | 60], .decoderStreamError),
        ] as [(String, Int64, [UInt8], HTTP3ErrorCode)])
    func broken(_ name: String, _ stream: Int64, _ bytes: [UInt8], _ code: HTTP3ErrorCode) {
        let client = HTTP3Client.withRequests(1)
        client.receive(bytes, on: stream)
        let lines = client.takeLines()
        #expect(lines.count == 1, "\(name): \(lines)")
        #expect(
            lines.first?.hasPrefix("error violation(code: \(code.rawValue), isApplication: true") == true,
            "\(name): \(lines)")
        // Nothing is sent or read any more, and the stream's end is reported once.
        client.receive(F.head(200), isLast: true)
        #expect(client.takeLines().first?.hasPrefix("error violation") == true)
        #expect(client.session.takeLooseOutput() == nil)
        client.session.fail()
        #expect(client.takeLines().map { $0.prefix(26) } == ["0 closed connectionLost(aft"].map { $0.prefix(26) })
        #expect(client.session.openStreamCount == 0 && client.session.isFinished)
    }

    @Test(
        "a stream of the connection's own that ends",
        arguments: [3, 7, 11] as [Int64])
    func criticalEnd(_ stream: Int64) {
        let type: [UInt8] = stream == 3 ? [0] : stream == 7 ? [2] : [3]
        for isReset in [false, true] {
            let client = HTTP3Client()
            client.receive(type + (stream == 3 ? F.settings() : []), on: stream)
            if isReset {
                client.receiveReset(.noError, on: stream)
            } else {
                client.receive([], isLast: true, on: stream)
            }
            #expect(client.takeLines().last?.hasPrefix("error violation(code: 260") == true)
        }
    }

    @Test("a server that wants nothing of a stream that the connection needs", arguments: [2 as Int64, 6, 10])
    func criticalStop(_ stream: Int64) {
        let client = HTTP3Client.withRequests(1)
        client.receiveStop(.noError, on: stream)
        #expect(client.takeLines().first?.hasPrefix("error violation(code: 260") == true)
    }

    @Test("a setting that HTTP/2 had")
    func reservedSetting() {
        let client = HTTP3Client()
        client.receive(F.control([(4, 1)]), on: 3)
        #expect(client.takeLines().first?.hasPrefix("error violation(code: 265") == true)
    }

    @Test("something other than settings comes first")
    func missingSettings() {
        let client = HTTP3Client()
        client.receive([0] + F.goAway(0), on: 3)
        #expect(client.takeLines().first?.hasPrefix("error violation(code: 266") == true)
    }

    @Test("a frame that its stream cuts off")
    func cutOff() {
        let client = HTTP3Client.withRequests(1)
        client.receive(F.head(200) + Array(F.data("abc").dropLast()), isLast: true)
        #expect(client.takeLines().last?.hasPrefix("error violation(code: 262") == true)
    }

    @Test("a peer's stream that a client cannot have is ignored by what is below")
    func foreign() {
        let client = HTTP3Client.withRequests(1)
        client.receive(F.head(200), on: 400)
        client.receive([0], on: 2)
        #expect(client.takeLines() == [])
    }
}
