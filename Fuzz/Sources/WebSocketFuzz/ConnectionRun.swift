import LoadingProtocols

/// A client's end that gets a server's octets in one way, and what it said about them.
///
/// On the way it holds the machine to its promises: nil only when the input is used up, no message above the limit,
/// text that is UTF-8, nothing after a close frame or a failure, one close frame that may be sent, and frames of its
/// own that a server can read.
struct ConnectionRun: ~Copyable {
    enum Pieces {
        case whole
        case single
        case any(UInt64)
    }

    enum Said: Equatable {
        case event(WebSocketMachine.Event)
        case failure(WebSocketFailure)
    }

    /// Messages, pongs and how it ended.
    private(set) var said: [Said] = []
    private var machine: WebSocketMachine
    private let limit: Int
    private var sent: [UInt8] = []
    private var random: UInt64 = 1

    /// - Parameter closesAfter: After how many messages the client closes; 0 for never.
    init(
        _ octets: UnsafeRawBufferPointer, limit: Int, compression: WebSocketCompression?, closesAfter: Int,
        pieces: Pieces
    ) {
        self.limit = limit
        machine = WebSocketMachine(
            maximumMessageSize: limit, compression: compression,
            maskingKeys: WebSocketMaskingKeys { $0.initializeMemory(as: UInt8.self, repeating: 0x5A) })
        if case .any(let seed) = pieces { random = seed | 1 }
        _ = machine.ping()
        // Making a compressor takes longer than all else, and is the same however the input is cut.
        if case .whole = pieces {
            precondition(
                machine.send(WebSocketOctets(Array("hello".utf8)), .whole(isText: true), number: 1),
                "an open connection takes a message")
        }
        encode()
        var start = 0
        var messages = 0
        while start < octets.count, machine.failure == nil {
            let length =
                switch pieces {
                case .whole: octets.count
                case .single: 1
                case .any: 1 + Int(truncatingIfNeeded: next() % 32)
                }
            let end = min(start + length, octets.count)
            var input = UnsafeRawBufferPointer(rebasing: octets[start..<end])
            start = end
            do throws(WebSocketFailure) {
                while let event = try receive(&input, pieces) {
                    note(event)
                    if case .message = event { messages += 1 }
                    if messages > 0, messages == closesAfter { machine.close(WebSocketCloseFrame(code: 1000)) }
                }
                precondition(input.isEmpty, "input is left")
            } catch {
                said.append(.failure(error))
                machine.fail()
            }
        }
        encode()
        precondition(!machine.hasOutput, "something is left to say")
        if machine.failure != nil { precondition(machine.isClosed, "a failed connection is not closed") }
        checkSent(compression)
    }

    /// In pieces, messages that are whole are taken as they lie there, as a load does; that may make no difference.
    private mutating func receive(
        _ input: inout UnsafeRawBufferPointer, _ pieces: Pieces
    ) throws(WebSocketFailure) -> WebSocketMachine.Event? {
        if case .any = pieces, let (isText, octets) = machine.receiveWhole(&input) {
            return .message(isText: isText, Array(octets))
        }
        return try machine.receive(&input)
    }

    private mutating func note(_ event: WebSocketMachine.Event) {
        precondition(machine.failure == nil, "an event after a failure")
        said.append(.event(event))
        switch event {
        case .message(let isText, let octets):
            precondition(octets.count <= limit, "a message above the limit")
            if isText { precondition(String(validating: octets, as: UTF8.self) != nil, "text that is not UTF-8") }
        case .pong(let number):
            precondition(number == 1, "a pong without its ping")
        case .closed(let frame):
            precondition(machine.receivedClose == frame, "another close frame")
        }
    }

    private mutating func encode() {
        while machine.hasOutput {
            let before = sent.count
            precondition(machine.encode(into: &sent, limit: sent.count + 7) != .outOfMemory, "no memory")
            precondition(sent.count > before, "nothing is said")
        }
        machine.sent(sent.count)
    }

    /// Reads what the client sent as a server would.
    private func checkSent(_ compression: WebSocketCompression?) {
        var rest = sent[...]
        var closes = 0
        while !rest.isEmpty {
            precondition(closes == 0, "a frame after a close frame")
            guard rest.count >= 6 else { preconditionFailure("half a header") }
            let (first, second) = (rest[rest.startIndex], rest[rest.startIndex + 1])
            precondition(second & 0x80 != 0, "a frame that is not masked")
            precondition(second & 0x7F < 126, "a longer frame than was sent")
            let length = Int(second & 0x7F)
            rest = rest.dropFirst(2)
            let key = Array(rest.prefix(4))
            rest = rest.dropFirst(4)
            precondition(rest.count >= length, "half a frame")
            let payload = rest.prefix(length).enumerated().map { $1 ^ key[$0 % 4] }
            rest = rest.dropFirst(length)
            switch first {
            case 0x81: precondition(payload == Array("hello".utf8), "another message")
            case 0xC1: precondition(compression != nil, "compressed without agreement")
            case 0x88:
                closes += 1
                precondition(payload.count != 1, "half a code")
                if payload.count >= 2 {
                    let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
                    precondition(WebSocketCloseFrame.mayBeSent(code), "a code that may not be sent")
                }
            case 0x89: precondition(payload.count == 8, "another ping")
            case 0x8A: break
            default: preconditionFailure("an unknown frame")
            }
        }
    }

    private mutating func next() -> UInt64 {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return random
    }
}
