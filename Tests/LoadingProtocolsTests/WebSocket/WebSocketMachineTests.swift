import LoadingProtocols
import Testing

/// Conversations of a client's end: what it sends, in words, and what it reports.
@Suite struct WebSocketMachineTests {
    /// A machine behind a reference.
    private final class Client {
        var machine: WebSocketMachine

        init(limit: Int = 1 << 20, compression: WebSocketCompression? = nil, key: UInt8 = 0) {
            machine = WebSocketMachine(
                maximumMessageSize: limit, compression: compression,
                maskingKeys: WebSocketMaskingKeys { room in
                    for index in room.indices { room[index] = key &+ (key == 0 ? 0 : UInt8(truncatingIfNeeded: index)) }
                })
        }

        func send(_ payload: [UInt8], _ part: WebSocketMachine.Part, number: Int) -> Bool {
            machine.send(payload, part, number: number)
        }

        func ping() -> Int? { machine.ping() }

        // The machine itself cannot be part of an expectation, which would copy it.
        var isOpen: Bool { machine.isOpen }
        var isClosed: Bool { machine.isClosed }
        var hasOutput: Bool { machine.hasOutput }

        @discardableResult
        func close(_ frame: WebSocketCloseFrame) -> Bool { machine.close(frame) }

        /// Gives octets of the server, and returns the events or the failure.
        func receive(_ octets: [UInt8]) -> [String] {
            octets.withUnsafeBytes { octets in
                var input = octets
                var events: [String] = []
                do {
                    while let event = try machine.receive(&input) {
                        switch event {
                        case .message(let isText, let octets):
                            events.append("\(isText ? "text" : "binary") \(octets.count)")
                        case .pong(let number): events.append("pong \(number)")
                        case .closed(let frame): events.append("closed \(frame.code.map { "\($0)" } ?? "-")")
                        }
                    }
                } catch {
                    machine.fail()
                    events.append("\(error)")
                }
                return events
            }
        }

        func encode(limit: Int = .max) -> [UInt8] {
            var output: [UInt8] = []
            while true {
                let progress = machine.encode(into: &output, limit: limit)
                #expect(progress != .outOfMemory)
                if progress != .pausing { return output }
            }
        }

        /// What one call of `encode` makes, and whether it leaves something to compress to the next.
        func step() -> (octets: [UInt8], isPausing: Bool) {
            var output: [UInt8] = []
            let progress = machine.encode(into: &output, limit: .max)
            #expect(progress != .outOfMemory)
            return (output, progress == .pausing)
        }

        /// The numbers of the payloads that have been sent, once so many more octets have left.
        func sent(_ count: Int) -> [Int] {
            machine.sent(count)
            var numbers: [Int] = []
            while let number = machine.nextSent() { numbers.append(number) }
            return numbers
        }
    }

    private struct Frame: Equatable {
        var first: UInt8
        var payload: [UInt8]
    }

    /// The frames in what a client has sent, unmasked.
    private static func frames(_ octets: [UInt8]) throws -> [Frame] {
        var rest = octets[...]
        var frames: [Frame] = []
        while let first = rest.popFirst() {
            let next = rest.popFirst()
            let second = try #require(next)
            // Every frame of a client is masked (RFC 6455 §5.1).
            #expect(second & 0x80 != 0)
            var length = Int(second & 0x7F)
            if length >= 126 {
                let count = length == 126 ? 2 : 8
                length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
                rest = rest.dropFirst(count)
            }
            let key = Array(rest.prefix(4))
            rest = rest.dropFirst(4)
            try #require(rest.count >= length)
            frames.append(Frame(first: first, payload: rest.prefix(length).enumerated().map { $1 ^ key[$0 & 3] }))
            rest = rest.dropFirst(length)
        }
        return frames
    }

    private typealias Reader = WebSocketReaderTests

    // WS-6, WS-14
    @Test(arguments: [0, 1, 3, 4, 7, 8, 9, 125, 126, 127, 65535, 65536, 65537, 300_000], [0, 0x5A] as [UInt8])
    func aMessageOfEachSizeIsMasked(_ size: Int, _ key: UInt8) throws {
        let machine = Client(key: key)
        let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(machine.send(payload, .whole(isText: false), number: 7))
        #expect(machine.hasOutput)
        var output: [UInt8] = []
        // In small steps, so that the mask is continued in the middle of a key.
        while machine.hasOutput { output += machine.encode(limit: 1) }
        #expect(try Self.frames(output) == [Frame(first: 0x82, payload: payload)])
        #expect(machine.sent(output.count - 1) == [])
        #expect(machine.sent(1) == [7])
        #expect(machine.sent(0) == [])
    }

    @Test func aMaskingKeyIsUsedOnce() {
        let machine = Client(key: 1)
        var keys: Set<[UInt8]> = []
        for number in 0..<64 {
            #expect(machine.send([], .whole(isText: true), number: number))
            keys.insert(Array(machine.encode().suffix(4)))
        }
        #expect(keys.count == 64)
    }

    // WS-6
    @Test func messagesKeepTheirOrder() throws {
        let machine = Client()
        #expect(machine.send(Array("a".utf8), .whole(isText: true), number: 1))
        #expect(machine.ping() == 1)
        #expect(machine.send([2], .whole(isText: false), number: 2))
        machine.close(WebSocketCloseFrame(code: 1000, reason: Array("bye".utf8)))
        #expect(!machine.send([3], .whole(isText: false), number: 3))
        #expect(machine.ping() == nil)
        let frames = try Self.frames(machine.encode())
        #expect(frames.map(\.first) == [0x81, 0x89, 0x82, 0x88])
        #expect(frames.last?.payload == [0x03, 0xE8] + Array("bye".utf8))
        #expect(!machine.isClosed)
        #expect(machine.receive(Reader.frame(0x88, [0x03, 0xE8])) == ["closed 1000"])
        #expect(machine.isClosed)
        #expect(!machine.hasOutput)
    }

    @Test func aMessageInFragments() throws {
        let machine = Client()
        #expect(!machine.send([0], .middle, number: 0))
        #expect(machine.send([1], .first(isText: false), number: 1))
        #expect(!machine.send([0], .whole(isText: false), number: 0))
        #expect(!machine.send([0], .first(isText: true), number: 0))
        #expect(machine.send([2], .middle, number: 2))
        #expect(machine.send([3], .last, number: 3))
        #expect(!machine.send([0], .last, number: 0))
        #expect(machine.send([4], .whole(isText: true), number: 4))
        #expect(try Self.frames(machine.encode()).map(\.first) == [0x02, 0x00, 0x80, 0x81])
    }

    // WS-9
    @Test func pings() throws {
        let machine = Client()
        #expect([machine.ping(), machine.ping(), machine.ping()] == [1, 2, 3])
        let pings = try Self.frames(machine.encode())
        #expect(pings.map(\.first) == [0x89, 0x89, 0x89])
        // A server may answer the last of several alone; what answers no ping is ignored.
        #expect(machine.receive(Reader.frame(0x8A, pings[1].payload)) == ["pong 2"])
        #expect(machine.receive(Reader.frame(0x8A, [1, 2])) == [])
        #expect(machine.receive(Reader.frame(0x8A, [0, 0, 0, 0, 0, 0, 0, 9])) == [])
        #expect(machine.receive(Reader.frame(0x8A, [UInt8](repeating: 0xFF, count: 8))) == [])
        #expect(machine.receive(Reader.frame(0x8A, pings[2].payload)) == ["pong 3"])
    }

    // WS-9
    @Test func pingsAreAnsweredInOrder() throws {
        let machine = Client()
        for number in UInt8(0)..<10 { #expect(machine.receive(Reader.frame(0x89, [number])) == []) }
        #expect(try Self.frames(machine.encode()) == (0..<10).map { Frame(first: 0x8A, payload: [$0]) })
    }

    // WS-9: memory is bounded, whatever the server sends
    @Test func theLastOfManyPingsAreAnswered() throws {
        let machine = Client()
        for number in 0..<10_000 {
            #expect(machine.receive(Reader.frame(0x89, [UInt8(number & 0xFF)])) == [])
        }
        #expect(
            try Self.frames(machine.encode())
                == (9_968..<10_000).map { Frame(first: 0x8A, payload: [UInt8($0 & 0xFF)]) })
    }

    // WS-14: what was sent in answer to a message goes out before the close frame, whatever came behind the message
    @Test func sendsBetweenAFaultAndTheFailure() throws {
        var machine = WebSocketMachine(maximumMessageSize: 10, maskingKeys: WebSocketMaskingKeys { _ in })
        let octets = Reader.frame(0x81, [0x61]) + Reader.frame(0x83)
        try octets.withUnsafeBytes { octets in
            var input = octets
            let message = try machine.receive(&input)
            #expect(message == .message(isText: true, [0x61]))
            #expect(throws: WebSocketFailure.self) { _ = try machine.receive(&input) }
        }
        let (isOpen, isSent) = (machine.isOpen, machine.send([0x62], .whole(isText: true), number: 1))
        #expect(isOpen && isSent)
        var output: [UInt8] = []
        _ = machine.encode(into: &output, limit: .max)
        machine.fail()
        let isStillOpen = machine.isOpen
        #expect(!isStillOpen)
        _ = machine.encode(into: &output, limit: .max)
        #expect(
            try Self.frames(output) == [
                Frame(first: 0x81, payload: [0x62]), Frame(first: 0x88, payload: [0x03, 0xEA]),
            ])
    }

    @Test func aPongComesBeforeWhatWaits() throws {
        let machine = Client()
        #expect(machine.send([UInt8](repeating: 1, count: 200_000), .whole(isText: false), number: 1))
        #expect(machine.send([2], .whole(isText: false), number: 2))
        let start = machine.encode(limit: 1)
        #expect(machine.receive(Reader.frame(0x89, [5])) == [])
        // Not within a frame.
        #expect(try Self.frames(start + machine.encode()).map(\.first) == [0x82, 0x8A, 0x82])
    }

    // WS-11
    @Test func theServerCloses() throws {
        let machine = Client()
        #expect(machine.send([1], .whole(isText: false), number: 1))
        #expect(
            machine.receive(Reader.frame(0x81, [0x61]) + Reader.frame(0x88, [0x0F, 0xA0, 0x78])) == [
                "text 1", "closed 4000",
            ])
        #expect(!machine.isOpen)
        #expect(!machine.isClosed)
        // What waits is not sent: the server has stopped reading messages.
        #expect(try Self.frames(machine.encode()) == [Frame(first: 0x88, payload: [0x0F, 0xA0])])
        #expect(machine.isClosed)
        #expect(machine.receive(Reader.frame(0x83)) == [])
    }

    // WS-11
    @Test func theServerClosesWithoutACode() throws {
        let machine = Client()
        #expect(machine.receive(Reader.frame(0x88)) == ["closed -"])
        #expect(try Self.frames(machine.encode()) == [Frame(first: 0x88, payload: [])])
    }

    // WS-10
    @Test(
        arguments: [
            (1000, "", [0x03, 0xE8]), (3000, "x", [0x0B, 0xB8, 0x78]), (4999, "", [0x13, 0x87]),
            // Reserved codes are never sent, nor a reason without a code.
            (0, "x", []), (1005, "x", []), (1006, "", []), (1015, "", []), (5000, "", []),
        ] as [(UInt16, String, [UInt8])])
    func theClientCloses(_ code: UInt16, _ reason: String, _ payload: [UInt8]) throws {
        let machine = Client()
        #expect(machine.close(WebSocketCloseFrame(code: code, reason: Array(reason.utf8))))
        #expect(!machine.close(WebSocketCloseFrame(code: 1001)))
        #expect(try Self.frames(machine.encode()) == [Frame(first: 0x88, payload: payload)])
        // Messages are discarded until the server's close frame.
        #expect(machine.receive(Reader.frame(0x81, [0x61]) + Reader.frame(0x88)) == ["closed -"])
        #expect(machine.isClosed)
    }

    // WS-10, WS-14: what would make the server fail the connection
    @Test(
        "the part of a reason that may be sent",
        arguments: [
            ([], 0), ([0x61, 0xFF, 0x62], 1), ([0xC3, 0xA9, 0xC3], 2), ([0xED, 0xA0, 0x80], 0), ([0xC0, 0x80], 0),
            ([UInt8](repeating: 0x61, count: 122) + [0xC3, 0xA9], 122), ([UInt8](repeating: 0x61, count: 124), 123),
        ] as [([UInt8], Int)])
    func fittingReason(reason: [UInt8], count: Int) {
        #expect(WebSocketCloseFrame.fitting(reason) == Array(reason.prefix(count)))
    }

    // WS-10
    @Test func aReasonIsCutAtTheLengthOfAControlFrame() throws {
        let machine = Client()
        machine.close(WebSocketCloseFrame(code: 1000, reason: [UInt8](repeating: 0x61, count: 500)))
        #expect(try Self.frames(machine.encode()).map(\.payload.count) == [125])
    }

    // WS-8, WS-14
    @Test(
        arguments: [
            ([0x83, 0x00], "protocolError(LoadingProtocols.WebSocketFailure.Violation.unknownOpcode)", 1002),
            ([0x81, 0x01, 0xFF], "invalidUTF8", 1007), ([0x82, 0x05], "messageTooBig", 1009),
        ] as [([UInt8], String, UInt16)])
    func aServerThatBreaksTheProtocol(_ octets: [UInt8], _ failure: String, _ code: UInt16) throws {
        let machine = Client(limit: 4)
        #expect(machine.send([1], .whole(isText: false), number: 1))
        #expect(machine.receive(octets) == [failure])
        #expect(
            try Self.frames(machine.encode()) == [Frame(first: 0x88, payload: [UInt8(code >> 8), UInt8(code & 0xFF)])])
        #expect(machine.isClosed)
        #expect(machine.receive(Reader.frame(0x81, [0x61])) == [])
        #expect(!machine.send([1], .whole(isText: false), number: 2))
    }

    @Test func nothingIsSaidWithinAFrame() {
        let machine = Client()
        #expect(machine.send([UInt8](repeating: 1, count: 200_000), .whole(isText: false), number: 1))
        _ = machine.encode(limit: 1)
        #expect(machine.receive(Reader.frame(0x83)).count == 1)
        #expect(!machine.hasOutput)
        #expect(machine.isClosed)
    }

    // WS-15
    @Test(arguments: [false, true]) func compressedMessagesComeBack(_ resets: Bool) throws {
        let compression = WebSocketCompression(clientResets: resets, serverResets: resets, clientWindowBits: 9)
        let client = Client(compression: compression)
        let texts = ["Hello", "Hello", "", "", String(repeating: "abcdefgh", count: 20_000), "€"]
        for (number, text) in texts.enumerated() {
            #expect(client.send(Array(text.utf8), .whole(isText: true), number: number))
        }
        let frames = try Self.frames(client.encode())
        // Also the long one, because zlib keeps its first pieces until it has more.
        #expect(frames.map(\.first) == texts.map { _ in 0xC1 })
        #expect((frames[1].payload.count < frames[0].payload.count) != resets)
        #expect(frames[4].payload.count < 4000)
        var reader = WebSocketReader(maximumMessageSize: 1 << 20, compression: compression)
        let octets = frames.flatMap { Reader.frame($0.first, $0.payload) }
        let events = try octets.withUnsafeBytes { octets in
            var input = octets
            var events: [WebSocketEvent] = []
            while let event = try reader.next(&input) { events.append(event) }
            return events
        }
        #expect(events == texts.map { .message(isText: true, Array($0.utf8)) })
    }

    /// What a server's reader makes of a client's compressed frames.
    private static func decompressed(_ frames: [Frame], limit: Int = 1 << 25) throws -> [WebSocketEvent] {
        var reader = WebSocketReader(maximumMessageSize: limit, compression: WebSocketCompression())
        let octets = frames.flatMap { Reader.frame($0.first, $0.payload) }
        return try octets.withUnsafeBytes { octets in
            var input = octets
            var events: [WebSocketEvent] = []
            while let event = try reader.next(&input) { events.append(event) }
            return events
        }
    }

    private static func noise(_ count: Int) -> [UInt8] {
        var state: UInt64 = 1
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }

    // WS-15: the loop has other tasks
    @Test(arguments: [false, true]) func noStepCompressesMoreThanAPiece(_ isCompressible: Bool) throws {
        let piece = 64 * 1024
        let message = isCompressible ? [UInt8](repeating: 7, count: 256 * piece) : Self.noise(16 * piece)
        let client = Client(compression: WebSocketCompression())
        #expect(client.send(message, .whole(isText: false), number: 1))
        var octets: [UInt8] = []
        var steps = 0
        while true {
            let step = client.step()
            steps += 1
            octets += step.octets
            // Together with what zlib has kept of the piece before.
            #expect(step.octets.count < 2 * piece)
            if !step.isPausing { break }
        }
        // As many steps as pieces, so no step has handled two.
        #expect(steps == message.count / piece)
        let hasOutput = client.machine.hasOutput
        #expect(!hasOutput)
        let frames = try Self.frames(octets)
        #expect(frames.first?.first == 0x42 && frames.last?.first == 0x80)
        #expect(frames.dropFirst().dropLast().allSatisfy { $0.first == 0x00 })
        let isWhole = try Self.decompressed(frames) == [.message(isText: false, message)]
        #expect(isWhole)
        #expect(client.sent(octets.count - 1) == [])
        #expect(client.sent(1) == [1])
    }

    // WS-15: short messages together are no more than a piece, and none of them is cut
    @Test func shortMessagesAreCompressedWhole() throws {
        let message = Self.noise(30_000)
        let client = Client(compression: WebSocketCompression())
        for number in 1...5 { #expect(client.send(message, .whole(isText: false), number: number)) }
        let (first, second, third) = (client.step(), client.step(), client.step())
        #expect([first.isPausing, second.isPausing, third.isPausing] == [true, true, false])
        let frames = try [first, second, third].map { try Self.frames($0.octets).map(\.first) }
        #expect(frames == [[0xC2, 0xC2], [0xC2, 0xC2], [0xC2]])
    }

    // WS-9, WS-15: between the frames of a message
    @Test func aPongComesBetweenThePieces() throws {
        let client = Client(compression: WebSocketCompression())
        #expect(client.send(Self.noise(300_000), .whole(isText: false), number: 1))
        let start = client.step().octets
        #expect(client.receive(Reader.frame(0x89, [1])) == [])
        #expect(try Self.frames(start + client.encode()).map(\.first) == [0x42, 0x8A, 0x00, 0x00, 0x00, 0x80])
    }

    // WS-10, WS-15: a message is given up between its pieces
    @Test(arguments: [false, true]) func aCloseFrameComesBetweenThePieces(_ isOfServer: Bool) throws {
        let client = Client(compression: WebSocketCompression())
        #expect(client.send(Self.noise(300_000), .whole(isText: false), number: 1))
        let start = client.step().octets
        if isOfServer {
            #expect(client.receive(Reader.frame(0x88, [0x03, 0xE8])) == ["closed 1000"])
        } else {
            client.machine.abandon()
        }
        #expect(try Self.frames(start + client.encode()).map(\.first) == [0x42, 0x88])
        #expect(client.sent(1 << 20) == [])
    }

    // WS-15: parts of a caller's message
    @Test func longPartsAreCompressedInPieces() throws {
        let client = Client(compression: WebSocketCompression())
        let parts = [Self.noise(100_000), Self.noise(70_000), []]
        for (number, part) in parts.enumerated() {
            let framing: WebSocketMachine.Part = number == 0 ? .first(isText: false) : number == 1 ? .middle : .last
            #expect(client.send(part, framing, number: number))
        }
        let octets = client.encode()
        let frames = try Self.frames(octets)
        #expect(frames.map(\.first) == [0x42, 0x00, 0x00, 0x00, 0x80])
        let isWhole = try Self.decompressed(frames) == [.message(isText: false, Array(parts.joined()))]
        #expect(isWhole)
        #expect(client.sent(octets.count) == [0, 1, 2])
    }

    /// zlib has no window of 256 octets, so the client sends as it is.
    @Test func aWindowThatIsTooSmall() throws {
        let client = Client(compression: WebSocketCompression(clientWindowBits: 8))
        #expect(client.send(Array("Hello".utf8), .whole(isText: true), number: 1))
        #expect(try Self.frames(client.encode()).map(\.first) == [0x81])
    }
}

extension WebSocketMachine {
    mutating func send(_ octets: [UInt8], _ part: Part, number: Int) -> Bool {
        send(WebSocketOctets(octets), part, number: number)
    }
}
