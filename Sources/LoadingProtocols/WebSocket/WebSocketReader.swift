/// What a server sends on a WebSocket connection.
package enum WebSocketEvent: Equatable, Sendable {
    /// A whole message. The octets of a text are valid UTF-8.
    case message(isText: Bool, [UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(WebSocketCloseFrame)
}

/// Reads the frames of a server and joins them to messages (RFC 6455 §5, RFC 7692 §6.2). Owns no socket and no clock.
///
/// Memory is bounded by the maximum message size: a message that is announced to be longer fails before its octets are
/// read, and a compressed one as soon as more comes out.
package struct WebSocketReader {
    /// In octets, of all fragments together and after decompression.
    package var maximumMessageSize: Int { didSet { maximumMessageSize = max(0, maximumMessageSize) } }
    private let inflater: WebSocketInflater?
    private var state = State.header
    /// The octets of a header that has not come whole.
    private var headerStart: [UInt8] = []
    private var message: Message?
    private var control: [UInt8] = []
    private var failure: WebSocketFailure?

    private enum State: Equatable {
        case header
        case payload(WebSocketFrameHeader, remaining: Int)
        /// A close frame has come: nothing after it has a meaning (RFC 6455 §1.4).
        case closed
    }

    private struct Message {
        let isText: Bool
        let isCompressed: Bool
        var octets: [UInt8] = []
        var validator = UTF8Validator()
    }

    /// The memory that is reserved for a frame at once, in octets; more only as it comes.
    private static let reservation = 64 * 1024

    package init(maximumMessageSize: Int, compression: WebSocketCompression? = nil) {
        self.maximumMessageSize = max(0, maximumMessageSize)
        inflater = compression.map { WebSocketInflater(resets: $0.serverResets) }
    }

    /// Whether a message has begun and not ended.
    package var isWithinMessage: Bool { message != nil }

    /// The message at the front of `input` as it lies there, if it has arrived whole in one frame that is not
    /// compressed. Nil for all else, including what is wrong, which is for `next` to read.
    package func nextWhole(
        _ input: inout UnsafeRawBufferPointer
    ) -> (isText: Bool, octets: UnsafeRawBufferPointer)? {
        guard failure == nil, state == .header, headerStart.isEmpty, message == nil,
            let (header, length) = try? WebSocketFrameHeader.read(input)
        else { return nil }
        let isText = header.opcode == .text
        guard isText || header.opcode == .binary, header.isFinal, !header.isCompressed,
            header.payloadLength <= min(input.count - length, maximumMessageSize)
        else { return nil }
        let octets = UnsafeRawBufferPointer(rebasing: input.dropFirst(length).prefix(header.payloadLength))
        if isText {
            var validator = UTF8Validator()
            guard validator.accept(octets), validator.isComplete else { return nil }
        }
        input.dropPrefix(length + octets.count)
        return (isText, octets)
    }

    /// The next event from the front of `input`; nil when all of it is consumed and more is needed.
    package mutating func next(_ input: inout UnsafeRawBufferPointer) throws(WebSocketFailure) -> WebSocketEvent? {
        var allowance = Int.max
        return try next(&input, decompressing: &allowance)
    }

    /// The same. Also nil, with input that is left, when the allowance of octets that may be decompressed is used up.
    package mutating func next(
        _ input: inout UnsafeRawBufferPointer, decompressing allowance: inout Int
    ) throws(WebSocketFailure) -> WebSocketEvent? {
        if let failure { throw failure }
        do throws(WebSocketFailure) {
            while true {
                switch state {
                case .header:
                    guard let header = try readHeader(&input) else { return nil }
                    try begin(header)
                    state = .payload(header, remaining: header.payloadLength)
                case .payload(let header, let remaining):
                    var piece = UnsafeRawBufferPointer(rebasing: input.prefix(remaining))
                    let offered = piece.count
                    try receive(&piece, of: header, decompressing: &allowance)
                    let used = offered - piece.count
                    input.dropPrefix(used)
                    guard used == remaining else {
                        state = .payload(header, remaining: remaining - used)
                        return nil
                    }
                    state = .header
                    if let event = try end(header) { return event }
                case .closed:
                    input.dropPrefix(input.count)
                    return nil
                }
            }
        } catch {
            failure = error
            message = nil
            throw error
        }
    }

    private mutating func readHeader(
        _ input: inout UnsafeRawBufferPointer
    ) throws(WebSocketFailure) -> WebSocketFrameHeader? {
        if headerStart.isEmpty {
            guard !input.isEmpty else { return nil }
            if let (header, length) = try WebSocketFrameHeader.read(input) {
                input.dropPrefix(length)
                return header
            }
            headerStart.append(contentsOf: input)
            input.dropPrefix(input.count)
            return nil
        }
        while let octet = input.first {
            headerStart.append(octet)
            input.dropPrefix(1)
            let read = try headerStart.withUnsafeBufferPointer { octets throws(WebSocketFailure) in
                try WebSocketFrameHeader.read(UnsafeRawBufferPointer(octets))
            }
            if let (header, _) = read {
                headerStart.removeAll(keepingCapacity: true)
                return header
            }
        }
        return nil
    }

    private mutating func begin(_ header: WebSocketFrameHeader) throws(WebSocketFailure) {
        if header.isCompressed, inflater == nil || header.opcode.isControl || header.opcode == .continuation {
            throw .protocolError(.reservedBits)
        }
        switch header.opcode {
        case .text, .binary:
            guard message == nil else { throw .protocolError(.fragmentOrder) }
            message = Message(isText: header.opcode == .text, isCompressed: header.isCompressed)
        case .continuation:
            guard message != nil else { throw .protocolError(.fragmentOrder) }
        case .close, .ping, .pong:
            control.removeAll(keepingCapacity: true)
            return
        }
        // Without a second reference to the message, which would be copied for each frame.
        guard message?.isCompressed == false, let count = message?.octets.count else { return }
        guard header.payloadLength <= maximumMessageSize - count else { throw .messageTooBig }
        if count == 0 { message?.octets.reserveCapacity(min(header.payloadLength, Self.reservation)) }
    }

    /// Takes all of `octets`, or as many as the allowance lets it decompress.
    private mutating func receive(
        _ octets: inout UnsafeRawBufferPointer, of header: WebSocketFrameHeader,
        decompressing allowance: inout Int
    ) throws(WebSocketFailure) {
        if header.opcode.isControl {
            control.append(contentsOf: octets)
        } else if message?.isCompressed == true {
            return try inflate(&octets, &allowance)
        } else {
            try append(octets)
        }
        octets.dropPrefix(octets.count)
    }

    private mutating func end(_ header: WebSocketFrameHeader) throws(WebSocketFailure) -> WebSocketEvent? {
        switch header.opcode {
        case .ping: return .ping(control)
        case .pong: return .pong(control)
        case .close:
            let frame = try WebSocketCloseFrame(payload: control)
            state = .closed
            message = nil
            return .close(frame)
        case .text, .binary, .continuation:
            guard header.isFinal else { return nil }
            if message?.isCompressed == true { try finishInflating() }
            guard let message else { return nil }
            guard message.validator.isComplete else { throw .invalidUTF8 }
            self.message = nil
            return .message(isText: message.isText, message.octets)
        }
    }

    private mutating func append(_ octets: UnsafeRawBufferPointer) throws(WebSocketFailure) {
        let room = maximumMessageSize - (message?.octets.count ?? 0)
        // What comes first is judged first, however many octets come together.
        if message?.isText == true {
            let fitting = UnsafeRawBufferPointer(rebasing: octets.prefix(max(0, room)))
            if message?.validator.accept(fitting) == false { throw .invalidUTF8 }
        }
        guard octets.count <= room else { throw .messageTooBig }
        message?.octets.append(contentsOf: octets)
    }

    /// What zlib still holds back when its input is used up is less than one copy from the window, and comes at the
    /// end.
    private mutating func inflate(
        _ octets: inout UnsafeRawBufferPointer, _ allowance: inout Int
    ) throws(WebSocketFailure) {
        while allowance > 0 || octets.isEmpty, let output = try inflater?.inflate(&octets) {
            try append(output)
            allowance -= output.count
        }
    }

    private mutating func finishInflating() throws(WebSocketFailure) {
        while let output = try inflater?.finishMessage() { try append(output) }
    }
}
