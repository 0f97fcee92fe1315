import Foundation
import TestSupport
import Testing
import URLLoading

/// `multipart/x-mixed-replace` bodies.
@Suite(.leavesNothing) struct MultipartTests {
    private static let type = "multipart/x-mixed-replace; boundary=cut"

    /// A body of these parts, each with its fields.
    private func body(_ parts: [(fields: String, text: String)], isClosed: Bool = true) -> String {
        let text = parts.map { "--cut\r\n\($0.fields)\r\n\($0.text)\r\n" }.joined()
        return isClosed ? text + "--cut--\r\n" : text
    }

    private var twoParts: String {
        body([("Content-Type: text/plain\r\n", "one"), ("Content-Type: text/html\r\nX-Part: 2\r\n", "<b>two</b>")])
    }

    private func server(_ text: String, pieces: Int = 1) throws -> ScriptedServer {
        let step = max(1, text.utf8.count / pieces)
        let bytes = Array(text.utf8)
        let chunks = stride(from: 0, to: bytes.count, by: step).map {
            String(decoding: bytes[$0..<min($0 + step, bytes.count)], as: UTF8.self)
        }
        return try ScriptedServer.answering(.chunked(chunks).with(field: "Content-Type", Self.type))
    }

    private func calls(_ server: ScriptedServer, _ delegate: RecordingDelegate) async throws -> [Call] {
        let queue = OperationQueue(name: "calls", width: 1)
        delegate.queue = queue
        let session = URLSession(delegate, queue: queue)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        return calls
    }

    private static let callsOfTwoParts: [Call] = [
        .created(1), .response(1, 200), .data(1, "one"), .response(1, 200), .data(1, "<b>two</b>"), .metrics(1),
        .completed(1, nil), .invalid,
    ]

    // S-69, MISC-23: however the body is cut on the wire
    @Test("each part is a response", arguments: [1, 2, 7, 1000]) func eachPartIsAResponse(pieces: Int) async throws {
        let server = try server(twoParts, pieces: pieces)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let responses = EventRecorder<[String?]>()
        delegate.answer = { task, answer in
            let response = task.response as? HTTPURLResponse
            responses.record([
                response?.mimeType, response?.value(forHTTPHeaderField: "X-Part"),
                response?.value(forHTTPHeaderField: "Content-Type"), "\(response?.expectedContentLength ?? 0)",
            ])
            answer(.allow)
        }
        #expect(try await calls(server, delegate) == Self.callsOfTwoParts)
        #expect(
            responses.events == [
                ["text/plain", nil, "text/plain", "-1"], ["text/html", "2", "text/html", "-1"],
            ])
    }

    // MISC-23: the answer is needed each time, and nothing is delivered before
    @Test("the delegate decides about each part") func eachPartIsDecided() async throws {
        let server = try server(twoParts)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let answers = Watched<[@Sendable (URLSession.ResponseDisposition) -> Void]>([])
        delegate.answer = { _, answer in answers.withValue { $0.append(answer) } }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        let first = try await answers.wait(for: "the first question") { $0.first }
        #expect(delegate.calls.events == [.created(1), .response(1, 200)])
        first(.allow)
        let second = try await answers.wait(for: "the second question") { $0.count > 1 ? $0[1] : nil }
        #expect(
            delegate.calls.events == [.created(1), .response(1, 200), .data(1, "one"), .response(1, 200)])
        second(.allow)
        #expect(try await delegate.callsUntilInvalid() == Self.callsOfTwoParts)
    }

    // MISC-23, T-5
    @Test("the second part is refused", arguments: [URLSession.ResponseDisposition.cancel, .becomeDownload])
    func theSecondPartIsRefused(disposition: URLSession.ResponseDisposition) async throws {
        let server = try server(twoParts)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let isFirst = Watched(true)
        delegate.answer = { _, answer in
            let wasFirst = isFirst.withValue { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            answer(wasFirst ? .allow : disposition)
        }
        #expect(
            try await calls(server, delegate) == [
                .created(1), .response(1, 200), .data(1, "one"), .response(1, 200), .metrics(1),
                .completed(1, .cancelled), .invalid,
            ])
    }

    // MISC-23: from the first part on the body may go to a file
    @Test("the first part becomes a download") func theFirstPartBecomesADownload() async throws {
        let server = try server(twoParts)
        defer { server.stop() }
        let delegate = RecordingDownloadDelegate()
        delegate.answer = { $1(.becomeDownload) }
        let session = URLSession(delegate)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .became(1, 2), .wrote(2, 13, -1), .downloaded(2, 13), .metrics(2),
                .completed(2, nil), .invalid,
            ])
        #expect(delegate.contents.events == [Data("one<b>two</b>".utf8)])
    }

    // MISC-23, T-20: each part in one piece
    @Test("parts in one piece each") func partsInOnePieceEach() async throws {
        let server = try server(twoParts, pieces: 1000)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.prefersIncrementalDelivery = false
        task.resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        // Not joined.
        #expect(delegate.calls.events == Self.callsOfTwoParts)
    }

    // MISC-23, T-46: a completion handler gets the last part
    @Test("a completion handler gets the last part") func aCompletionHandlerGetsTheLastPart() async throws {
        let server = try server(twoParts)
        defer { server.stop() }
        let recorder = EventRecorder<Call>()
        let task = URLSession.shared.dataTask(with: server.url(), completionHandler: recorder.handler)
        task.resume()
        #expect(try await recorder.waitFor(count: 1) == [.handled("<b>two</b>", 200, nil)])
        #expect(task.response?.mimeType == "text/html")
        let (data, response) = try await URLSession.shared.data(from: server.url())
        #expect(data == Data("<b>two</b>".utf8))
        #expect(response.mimeType == "text/html")
    }

    // MISC-23: a file, and a reader of bytes, get the body as it is
    @Test("a download and bytes") func aDownloadAndBytes() async throws {
        let server = try server(twoParts)
        defer { server.stop() }
        let (file, _) = try await URLSession.shared.download(from: server.url())
        #expect(try String(contentsOf: file, encoding: .utf8) == twoParts)
        try FileManager.default.removeItem(at: file)
        let (bytes, response) = try await URLSession.shared.bytes(from: server.url())
        #expect(response.mimeType == "multipart/x-mixed-replace")
        var all = Data()
        for try await byte in bytes { all.append(byte) }
        #expect(all == Data(twoParts.utf8))
    }

    // MISC-23, CONN-27: if only the connection's end ends the body, the last delimiter shows that it is complete
    @Test("parts until the connection ends", arguments: [true, false])
    func partsUntilTheConnectionEnds(isClosed: Bool) async throws {
        let text = body([("", "one"), ("", "two")], isClosed: isClosed)
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Type: \(Self.type)\r\n\r\n\(text)")
        }
        defer { server.stop() }
        let last = isClosed ? "two" : "two\r\n"
        #expect(
            try await calls(server, RecordingDelegate()) == [
                .created(1), .response(1, 200), .data(1, "one"), .response(1, 200), .data(1, last), .metrics(1),
                .completed(1, isClosed ? nil : .networkConnectionLost), .invalid,
            ])
        let recorder = EventRecorder<Call>()
        URLSession.shared.dataTask(with: server.url(), completionHandler: recorder.handler).resume()
        #expect(
            try await recorder.waitFor(count: 1) == [
                isClosed ? .handled("two", 200, nil) : .handled(nil, 200, .networkConnectionLost)
            ])
    }

    // MISC-23, CONN-27: the same for a body that is delivered as received
    @Test(
        "a download and bytes until the connection ends", arguments: [true, false], ["", "Content-Encoding: gzip\r\n"])
    func aDownloadUntilTheConnectionEnds(isClosed: Bool, coding: String) async throws {
        // More than a buffer, so that the body comes in pieces; a stored block of gzip has up to 64 KiB.
        let count = coding.isEmpty ? 300_000 : 20_000
        let text = body([("", String(repeating: "one", count: count)), ("", "two")], isClosed: isClosed)
        let bytes = coding.isEmpty ? Array(text.utf8) : CodedBodies.gzip(text)
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Type: \(Self.type)\r\n\(coding)\r\n")
            try connection.send(bytes)
        }
        defer { server.stop() }
        let code: URLError.Code? = isClosed ? nil : .networkConnectionLost
        do {
            let (file, _) = try await URLSession.shared.download(from: server.url())
            #expect(code == nil)
            #expect(try Data(contentsOf: file) == Data(text.utf8))
            try FileManager.default.removeItem(at: file)
        } catch let error as URLError {
            #expect(error.code == code)
        }
        var all = Data()
        do {
            for try await byte in try await URLSession.shared.bytes(from: server.url()).0 { all.append(byte) }
            #expect(code == nil)
        } catch let error as URLError {
            #expect(error.code == code)
        }
        #expect(all == Data(text.utf8))
    }

    // MISC-23: a camera that is switched off, and ends its body in order
    @Test("a part that is cut off") func aPartThatIsCutOff() async throws {
        let text = body([("", "one")], isClosed: false) + "--cut\r\nX: y\r\n\r\nhal"
        let server = try server(text)
        defer { server.stop() }
        #expect(
            try await calls(server, RecordingDelegate()) == [
                .created(1), .response(1, 200), .data(1, "one"), .response(1, 200), .data(1, "hal"), .metrics(1),
                .completed(1, nil), .invalid,
            ])
    }

    // MISC-23, T-38: a connection that breaks in a part
    @Test("a connection that breaks") func aConnectionThatBreaks() async throws {
        let text = body([("", "one")], isClosed: false) + "--cut\r\n\r\nhal"
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send(
                "HTTP/1.1 200 OK\r\nContent-Type: \(Self.type)\r\nContent-Length: 1000\r\n\r\n\(text)")
        }
        defer { server.stop() }
        #expect(
            try await calls(server, RecordingDelegate()) == [
                .created(1), .response(1, 200), .data(1, "one"), .response(1, 200), .data(1, "hal"), .metrics(1),
                .completed(1, .networkConnectionLost), .invalid,
            ])
    }

    // MISC-23: nothing that looks like a part
    @Test("a body without parts", arguments: ["", "nothing of the kind", "--cut--\r\n", "--cut"])
    func aBodyWithoutParts(text: String) async throws {
        let server = try server(text)
        defer { server.stop() }
        let delegate = RecordingDelegate()
        #expect(
            try await calls(server, delegate) == [
                .created(1), .response(1, 200), .metrics(1), .completed(1, nil), .invalid,
            ])
        let recorder = EventRecorder<Call>()
        URLSession.shared.dataTask(with: server.url(), completionHandler: recorder.handler).resume()
        #expect(try await recorder.waitFor(count: 1) == [.handled("", 200, nil)])
    }

    // MISC-23: other kinds of multipart, and ones that name no boundary, are bodies like any other
    @Test(
        "what is no series of parts",
        arguments: ["multipart/mixed; boundary=cut", "multipart/x-mixed-replace", "text/plain; boundary=cut"])
    func aBodyThatIsNotMultipart(type: String) async throws {
        let text = twoParts
        let server = try ScriptedServer.answering(.text(text).with(field: "Content-Type", type))
        defer { server.stop() }
        #expect(
            try await calls(server, RecordingDelegate()) == [
                .created(1), .response(1, 200), .data(1, text), .metrics(1), .completed(1, nil), .invalid,
            ])
    }

    // MISC-23, ERR-7: a head that never ends
    @Test("a part with a huge head") func aPartWithAHugeHead() async throws {
        let text =
            body([("", "one")], isClosed: false) + "--cut\r\nX: \(String(repeating: "y", count: 200_000))\r\n\r\n"
        let server = try server(text)
        defer { server.stop() }
        #expect(
            try await calls(server, RecordingDelegate()) == [
                .created(1), .response(1, 200), .data(1, "one"), .metrics(1), .completed(1, .cannotParseResponse),
                .invalid,
            ])
    }

    // MISC-23: a length that lies does no harm
    @Test("a part with a wrong length") func aPartWithAWrongLength() async throws {
        let server = try server(
            body([("Content-Length: 99999999999999999999\r\n", "one"), ("Content-Length: -5\r\n", "2")]))
        defer { server.stop() }
        #expect(
            try await calls(server, RecordingDelegate()) == [
                .created(1), .response(1, 200), .data(1, "one"), .response(1, 200), .data(1, "2"), .metrics(1),
                .completed(1, nil), .invalid,
            ])
    }

    // MISC-23, ENC-1: a coded body of many parts that come at once
    @Test("many coded parts") func manyCodedParts() async throws {
        let part = String(repeating: "0123456789abcdef", count: 90)
        let text = body((0..<40).map { ("X-Number: \($0)\r\n", part) })
        let server = try ScriptedServer.answering(
            .bytes(CodedBodies.gzip(text)).with(field: "Content-Type", Self.type).with(
                field: "Content-Encoding", "gzip"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let calls = try await calls(server, delegate)
        var expected: [Call] = [.created(1)]
        for _ in 0..<40 { expected += [.response(1, 200), .data(1, part)] }
        #expect(calls == expected + [.metrics(1), .completed(1, nil), .invalid])
    }

    // T-5, MISC-23
    @Test("cancelling between two parts") func cancellingBetweenTwoParts() async throws {
        let gone = Signal("the client's going")
        let server = try ScriptedServer { [body = body([("", "one")], isClosed: false)] connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Type: \(Self.type)\r\n\r\n\(body)--cut\r\n")
            _ = try connection.waitForClose()
            gone.fire()
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.during = { call, _, task in if case .data = call { task?.cancel() } }
        #expect(
            try await calls(server, delegate) == [
                .created(1), .response(1, 200), .data(1, "one"), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
        try await gone.wait()
    }
}
