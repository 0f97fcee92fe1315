import LoadingEvents
import Testing
import URLSessionCommandCore

/// What `-v` draws of a WebSocket, and how messages are shown to a reader.
@Suite struct WebSocketPictureTests {
    @Test func course() {
        var picture = WebSocketPicture(showsSecrets: true)
        let events: [(Int64, LoadEvent.Kind)] = [
            (1_000, .requestStarted), (5_000_000_000, .webSocketOpened(subprotocol: "ch\u{1B}at", isCompressed: true)),
            (5_012_345_000, .webSocketMessage(isSent: true, isText: true, bytes: 5)),
            (5_034_000_000, .webSocketMessage(isSent: false, isText: false, bytes: 1)),
            (35_000_000_000, .webSocketPing(isSent: true)), (35_001_000_000, .webSocketPing(isSent: false)),
            (1_234_000_000_000, .webSocketCloses(code: 1000)), (1_234_500_000_000, .webSocketClosed(code: 4000)),
            // Reported again with the server's close frame.
            (1_234_500_000_000, .webSocketCloses(code: 1000)), (1_234_500_000_000, .ended),
        ]
        #expect(
            events.compactMap { picture.line(for: LoadEvent(time: $0.0, kind: $0.1)) } == [
                "* WebSocket open, subprotocol ch^[at, compressed", ">     +0.012 s  text, 5 bytes",
                "<     +0.034 s  binary, 1 byte", ">    +30.000 s  ping", "<    +30.001 s  pong",
                ">  +1229.000 s  close, 1000 (normal closure)", "<  +1229.500 s  close, 4000",
            ])
        var closed = WebSocketPicture(showsSecrets: false)
        #expect(
            closed.line(for: LoadEvent(time: 1, kind: .webSocketClosed(code: 1005))) == "<     +0.000 s  close, no code"
        )
        // Aligned with the words of the line before.
        #expect(WebSocketPicture.reason("a\u{1B}b") == "<               reason: a^[b")
    }

    @Test("a subprotocol may be a token", arguments: [(false, "[redacted]"), (true, "bearer.very-secret")])
    func subprotocol(showsSecrets: Bool, shown: String) {
        var picture = WebSocketPicture(showsSecrets: showsSecrets)
        let opened = LoadEvent.Kind.webSocketOpened(subprotocol: "bearer.very-secret", isCompressed: false)
        #expect(picture.line(for: LoadEvent(time: 1, kind: opened)) == "* WebSocket open, subprotocol \(shown)")
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func messagesForAReader() {
        let presenter = MessagePresenter(isFormatted: true, style: TextStyle(isColored: false), isUTF8: true)
        #expect(text(presenter.text("a\u{1B}[2Jb\nc")) == "a^[[2Jb\nc\n")
        #expect(
            text(presenter.binary([0x48, 0x69, 0, 0xFF])) == """
                binary, 4 bytes
                  00000000  48 69 00 ff                                      |Hi..|

                """)
        #expect(text(presenter.binary([])) == "binary, 0 bytes\n")
        let long = text(presenter.binary((0..<66).map { UInt8($0) + 0x20 }))
        #expect(
            long.split(separator: "\n") == [
                "binary, 66 bytes",
                "  00000000  20 21 22 23 24 25 26 27 28 29 2a 2b 2c 2d 2e 2f  | !\"#$%&'()*+,-./|",
                "  00000010  30 31 32 33 34 35 36 37 38 39 3a 3b 3c 3d 3e 3f  |0123456789:;<=>?|",
                "  00000020  40 41 42 43 44 45 46 47 48 49 4a 4b 4c 4d 4e 4f  |@ABCDEFGHIJKLMNO|",
                "  00000030  50 51 52 53 54 55 56 57 58 59 5a 5b 5c 5d 5e 5f  |PQRSTUVWXYZ[\\]^_|",
                "  and 2 bytes more; -o FILE keeps all",
            ])
    }

    @Test func messagesForAPipe() {
        let presenter = MessagePresenter(isFormatted: false, style: TextStyle(isColored: false), isUTF8: true)
        #expect(text(presenter.text("a\u{1B}[2Jb")) == "a\u{1B}[2Jb\n")
        #expect(presenter.binary([0, 10, 0xFF]) == [0, 10, 0xFF])
    }

    @Test("lines, in pieces of each size") func lines() {
        let input = Array("one\n\ntwo\nthree".utf8)
        for size in 1...input.count {
            var splitter = LineSplitter()
            var lines: [String] = []
            for start in stride(from: 0, to: input.count, by: size) {
                splitter.add(input[start..<min(start + size, input.count)])
                while let line = splitter.next() { lines.append(text(line)) }
            }
            #expect(splitter.pendingCount == 5)
            #expect(lines == ["one", "", "two"])
            #expect(splitter.finish().map(text) == "three")
            #expect(splitter.finish() == nil)
        }
    }
}
