import LoadingProtocols
import TestSupport
import Testing

private typealias F = HTTP2Frames

@Suite("HTTP/2 windows")
struct HTTP2FlowTests {
    private let windows = StreamWindowSizes(
        initialStream: 1_000, maximumStream: 4_000, connection: 70_000, maximumUnread: 500)

    private func client(_ requests: Int) -> HTTP2Client {
        let client = HTTP2Client.withRequests(requests, windows: windows)
        client.consumes = false
        for stream in 0..<requests { client.receive(F.head(Int64(2 * stream + 1), 200)) }
        _ = client.takeLines()
        return client
    }

    private func body(_ count: Int) -> [UInt8] { Array(repeating: 0x61, count: count) }

    // CONN-22
    @Test("a stream's window opens as its reader takes what came, and not before")
    func stream() {
        let client = client(1)
        client.receive(F.data(1, body(600)))
        #expect(client.takeFrameLines() == [])
        client.session.consumed(499, on: 1)
        #expect(client.takeFrameLines() == [])
        client.session.consumed(1, on: 1)
        #expect(client.takeFrameLines() == ["WINDOW_UPDATE 1 500"])
    }

    // CONN-22
    @Test("more than a window is a mistake of the server's")
    func overrun() {
        let client = client(1)
        client.receive(F.data(1, body(1_000)))
        client.receive(F.data(1, body(1)))
        #expect(client.takeFrameLines() == ["RST_STREAM 1 3"])
        #expect(client.takeLines().last?.hasPrefix("1 closed malformed") == true)
    }

    @Test("a window grows while its reader keeps up, to a limit")
    func growth() {
        let client = client(1)
        client.consumes = true
        var opened = 0
        for _ in 0..<200 {
            client.receive(F.data(1, body(100)))
            opened += client.takeFrames().filter { $0.stream == 1 }.reduce(0) { $0 + Int($1.number) }
        }
        // What the server may still send: what it had, and what was opened, less what it has sent.
        #expect(1_000 + opened - 200 * 100 > 4_000 - 2_000)
        #expect(1_000 + opened - 200 * 100 <= 4_000)
    }

    @Test("a window does not grow while its reader is behind")
    func noGrowth() {
        let client = client(1)
        var opened = 0
        client.receive(F.data(1, body(600)))
        for _ in 0..<40 {
            client.receive(F.data(1, body(200)))
            client.session.consumed(200, on: 1)
            opened += client.takeFrames().filter { $0.stream == 1 }.reduce(0) { $0 + Int($1.number) }
        }
        #expect(1_000 + opened - 40 * 200 - 600 <= 1_000)
    }

    @Test("a paused stream does not hold up the connection, until all that is unread is too much")
    func connection() {
        let client = HTTP2Client.withRequests(
            2,
            windows: StreamWindowSizes(
                initialStream: 100_000, maximumStream: 100_000, connection: 70_000, maximumUnread: 40_000))
        client.consumes = false
        client.receive(F.head(1, 200) + F.head(3, 200))
        var updates: [String] = []
        func receive(_ count: Int, on stream: Int64) {
            for _ in 0..<count / 10_000 { client.receive(F.data(stream, body(10_000))) }
            updates += client.takeFrameLines()
        }
        receive(40_000, on: 1)
        #expect(updates == ["WINDOW_UPDATE 0 40000"])
        receive(60_000, on: 3)
        // 100,000 are unread, so 60,000 of the 70,000 are used up.
        #expect(updates == ["WINDOW_UPDATE 0 40000"])
        client.session.consumed(40_000, on: 1)
        #expect(client.takeFrameLines().contains("WINDOW_UPDATE 0 40000"))
    }

    /// What a server may send by the windows that it knows of.
    private struct Sender {
        let client = HTTP2Client()
        private var connection = 65_535
        private var streams: [Int64: Int] = [:]

        init(_ requests: Int) {
            client.consumes = false
            client.receive(F.settings() + F.settingsAnswer)
            for _ in 0..<requests {
                let stream = client.submit()
                streams[stream] = StreamWindowSizes().initialStream
                readWindowUpdates()
                client.receive(F.head(stream, 200))
            }
        }

        private mutating func readWindowUpdates() {
            for frame in client.takeFrames() where frame.name == "WINDOW_UPDATE" {
                if frame.stream == 0 {
                    connection += Int(frame.number)
                } else {
                    streams[frame.stream]? += Int(frame.number)
                }
            }
            _ = client.takeLines()
        }

        /// Sends up to so many bytes, and says how many they were.
        mutating func send(_ count: Int, on stream: Int64, isRead: Bool) -> Int {
            var sent = 0
            while sent < count {
                let piece = min(count - sent, 16_384, connection, streams[stream] ?? 0)
                if piece <= 0 { return sent }
                client.receive(F.data(stream, [UInt8](repeating: 0, count: piece)))
                if isRead { client.session.consumed(piece, on: stream) }
                sent += piece
                connection -= piece
                streams[stream]? -= piece
                readWindowUpdates()
            }
            return sent
        }
    }

    // CONN-22
    @Test("readers that were fast and are paused do not hold up the connection") func pausedAfterGrowth() {
        var server = Sender(3)
        for stream in [1, 3] as [Int64] {
            #expect(server.send(48 << 20, on: stream, isRead: true) == 48 << 20)
            // A window each, and what it has grown by together is bounded.
            let paused = server.send(48 << 20, on: stream, isRead: false)
            #expect(paused > 4 << 20 && paused <= 16 << 20)
        }
        #expect(!server.client.session.isFull)
        #expect(server.send(48 << 20, on: 5, isRead: true) == 48 << 20)
    }

    // CONN-22
    @Test("fast streams leave some growth to later ones") func laterGrowth() {
        var server = Sender(3)
        for stream in [1, 3, 5] as [Int64] { #expect(server.send(48 << 20, on: stream, isRead: true) == 48 << 20) }
        let ahead = server.send(48 << 20, on: 5, isRead: false)
        #expect(ahead > 2 << 20 && ahead <= 8 << 20)
    }

    // CONN-22
    @Test("a window that has grown gives that back with its stream") func growthAgain() {
        var server = Sender(4)
        for stream in [1, 3, 5, 7] as [Int64] {
            #expect(server.send(48 << 20, on: stream, isRead: true) == 48 << 20)
            let ahead = server.send(48 << 20, on: stream, isRead: false)
            #expect(ahead > 8 << 20)
            server.client.session.consumed(ahead, on: stream)
            server.client.receive(F.data(stream, [], ends: true))
        }
    }

    // CONN-22
    @Test("a connection is full while too much is unread") func full() {
        let client = client(1)
        client.receive(F.data(1, body(500)))
        #expect(!client.session.isFull)
        client.receive(F.data(1, body(1)))
        #expect(client.session.isFull)
        client.session.consumed(1, on: 1)
        #expect(!client.session.isFull)
    }

    @Test("what is unread of a stream that has ended counts until it is consumed or dropped")
    func lingering() {
        let client = HTTP2Client.withRequests(
            2, windows: StreamWindowSizes(initialStream: 60_000, connection: 65_535, maximumUnread: 0))
        client.consumes = false
        for stream in [1, 3] as [Int64] {
            client.receive(F.head(stream, 200))
            for _ in 0..<3 { client.receive(F.data(stream, body(10_000))) }
            client.receive(F.data(stream, [], ends: true))
        }
        #expect(client.session.openStreamCount == 0)
        #expect(client.takeFrameLines() == [])
        client.session.consumed(30_000, on: 1)
        client.session.consumed(30_000, on: 1)
        #expect(client.takeFrameLines() == [])
        client.session.reset(3)
        #expect(client.takeFrameLines() == ["WINDOW_UPDATE 0 60000"])
    }

    @Test("what comes for a stream that was reset goes back to the connection's window")
    func afterReset() {
        let client = HTTP2Client.withRequests(1, windows: StreamWindowSizes(connection: 65_535))
        client.receive(F.head(1, 200))
        client.session.reset(1)
        for _ in 0..<4 { client.receive(F.data(1, body(10_000))) }
        #expect(client.takeFrameLines() == ["RST_STREAM 1 8", "WINDOW_UPDATE 0 40000"])
        for _ in 0..<4 { client.receive(F.data(1, body(10_000))) }
        #expect(client.takeFrameLines() == ["WINDOW_UPDATE 0 40000"])
    }

    @Test("padding and frame heads are counted for the metrics, and padding goes back to the windows")
    func frameBytes() {
        let client = HTTP2Client.withRequests(1, windows: StreamWindowSizes(initialStream: 300, connection: 65_535))
        client.receive(
            F.head(1, 200) + F.frame(0, flags: 8, stream: 1, [200] + body(10) + Array(repeating: 0, count: 200)))
        #expect(client.session.receivedBodyFrameBytes(on: 1) == 220)
        #expect(client.takeFrameLines() == ["WINDOW_UPDATE 1 201"])
        #expect(client.session.receivedBodyFrameBytes(on: 3) == 0)
    }
}
