internal import LoadingSemantics

/// Octets that are sent, wherever they lie. An object, so that each step of their way costs no more than a reference.
package protocol WebSocketPayload: AnyObject, Sendable {
    var count: Int { get }
    func withUnsafeBytes(_ body: (UnsafeRawBufferPointer) -> Void)
}

/// Octets in an array.
package final class WebSocketOctets: WebSocketPayload {
    private let octets: [UInt8]

    package init(_ octets: [UInt8]) { self.octets = octets }

    package var count: Int { octets.count }

    package func withUnsafeBytes(_ body: (UnsafeRawBufferPointer) -> Void) { octets.withUnsafeBytes(body) }
}

/// One end of a WebSocket connection, the client's, after the opening handshake (RFC 6455 §5 to §7, RFC 7692). Owns no
/// socket and no clock.
///
/// `receive` reads what the server sent and `encode` makes what goes out: of the frames that wait, a pong comes first,
/// then messages and pings in their order, and a close frame last. Memory is bounded on both sides: of many pings that
/// wait only the last are answered (RFC 6455 §5.5.3), and messages are masked, and compressed, when the caller takes
/// octets. A long message that is compressed is therefore sent in fragments.
///
/// Not copyable, because its owner's reads of a property would copy all of it.
package struct WebSocketMachine: ~Copyable {
    package enum Event: Equatable, Sendable {
        case message(isText: Bool, [UInt8])
        /// The ping with this number, and those before it, are answered.
        case pong(Int)
        /// The server's close frame. What this end answers is to be sent, then the connection closed.
        case closed(WebSocketCloseFrame)
    }

    /// Which part of a message a payload is.
    package enum Part: Equatable, Sendable {
        case whole(isText: Bool)
        case first(isText: Bool)
        case middle
        case last
    }

    /// How `encode` has ended.
    package enum Progress: Equatable, Sendable {
        /// Nothing waits, or there are as many octets as requested.
        case done
        /// As much was compressed as one turn of a loop may take. More waits to be.
        case pausing
        case outOfMemory
    }

    private enum Outgoing {
        /// `number` is chosen by the caller, and returned when the message is sent.
        case data(Part, any WebSocketPayload, number: Int)
        case ping(Int)
    }

    /// What is known of a frame whose payload is only partly encoded.
    private struct OpenFrame {
        var payload: any WebSocketPayload
        var offset = 0
        var key: UInt32
        /// The caller's payload that is complete with this frame.
        var number: Int?
    }

    /// A payload that is compressed piece by piece, each of which is a frame.
    private struct OpenPayload {
        let payload: any WebSocketPayload
        var offset = 0
        /// Of the next frame.
        var opcode: WebSocketOpcode
        /// Whether the message ends with it.
        let isFinal: Bool
        let number: Int
    }

    private var reader: WebSocketReader
    private let deflater: WebSocketDeflater?
    private var maskingKeys: WebSocketMaskingKeys

    private var outgoing = FIFOQueue<Outgoing>()
    // Whether they are there is asked several times for each message, where a look at them would copy them.
    private var openFrame: OpenFrame? { didSet { hasOpenFrame = openFrame != nil } }
    private var hasOpenFrame = false
    private var openPayload: OpenPayload? { didSet { hasOpenPayload = openPayload != nil } }
    private var hasOpenPayload = false
    /// The payloads of pings that are not answered yet.
    private var pongs: [[UInt8]] = []
    private var lastPing = 0
    /// Whether a message of several parts has begun, so that no other may.
    private var isWithinMessage = false

    /// The close frame of this end, once it is decided.
    package private(set) var closeFrame: WebSocketCloseFrame?
    private var isCloseEncoded = false
    package private(set) var receivedClose: WebSocketCloseFrame?
    package private(set) var failure: WebSocketFailure?

    /// Octets in all.
    private var encodedCount = 0
    private var sentCount = 0
    /// The numbers of payloads that are encoded up to these positions.
    private var completions = FIFOQueue<(number: Int, end: Int)>()

    /// The largest piece of a payload that is encoded at once, in octets. Also the most that one `encode` compresses.
    private static let pieceLength = 64 * 1024
    private static let mostPongs = 32

    package init(
        maximumMessageSize: Int, compression: WebSocketCompression? = nil, maskingKeys: WebSocketMaskingKeys
    ) {
        reader = WebSocketReader(maximumMessageSize: maximumMessageSize, compression: compression)
        let deflater = compression.map { WebSocketDeflater($0) }
        self.deflater = deflater?.isAvailable == true ? deflater : nil
        self.maskingKeys = maskingKeys
    }

    package var maximumMessageSize: Int {
        get { reader.maximumMessageSize }
        set { reader.maximumMessageSize = newValue }
    }

    /// Whether messages may still be sent.
    package var isOpen: Bool { closeFrame == nil }

    /// Whether both close frames have been exchanged, or this end has failed the connection, and nothing is left to be
    /// encoded.
    package var isClosed: Bool { isCloseEncoded && (receivedClose != nil || failure != nil) }

    // MARK: From the client

    /// Adds a payload. False if the connection closes, or if the part does not follow those before it.
    package mutating func send(_ payload: consuming any WebSocketPayload, _ part: Part, number: Int) -> Bool {
        guard isOpen else { return false }
        switch part {
        case .whole, .first: if isWithinMessage { return false }
        case .middle, .last: if !isWithinMessage { return false }
        }
        isWithinMessage = part == .middle || isFirst(part)
        outgoing.append(.data(part, payload, number: number))
        return true
    }

    private func isFirst(_ part: Part) -> Bool { if case .first = part { true } else { false } }

    /// Adds a ping and returns its number, which its pong carries; nil if the connection closes.
    package mutating func ping() -> Int? {
        guard isOpen else { return nil }
        lastPing += 1
        outgoing.append(.ping(lastPing))
        return lastPing
    }

    /// Closes the connection after the messages that wait. A code that may not be sent becomes none. False if it closes
    /// already.
    @discardableResult
    package mutating func close(_ frame: WebSocketCloseFrame) -> Bool {
        guard isOpen else { return false }
        closeFrame = frame.code.map(WebSocketCloseFrame.mayBeSent) == true ? frame : WebSocketCloseFrame()
        return true
    }

    /// Gives up what waits: nothing but a close frame without a code is still encoded, and not even that within another
    /// frame.
    package mutating func abandon() {
        discardOutgoing()
        if closeFrame == nil { closeFrame = WebSocketCloseFrame() }
        giveUpOpenFrame()
    }

    /// Within a frame nothing else can be said; between the frames of a message it can.
    private mutating func giveUpOpenFrame() {
        guard hasOpenFrame else { return }
        isCloseEncoded = true
        openFrame = nil
    }

    // MARK: From the server

    /// The message at the front of `input` as it lies there, if it is whole, so that it need not be copied. Nil for all
    /// else, which `receive` reads.
    package func receiveWhole(
        _ input: inout UnsafeRawBufferPointer
    ) -> (isText: Bool, octets: UnsafeRawBufferPointer)? {
        // After its own close frame this end discards messages.
        isOpen && failure == nil && receivedClose == nil ? reader.nextWhole(&input) : nil
    }

    /// The next event from the front of `input`; nil when all of it is consumed. After an error nothing more is read,
    /// and the connection has to be failed with `fail`.
    package mutating func receive(_ input: inout UnsafeRawBufferPointer) throws(WebSocketFailure) -> Event? {
        var allowance = Int.max
        return try receive(&input, decompressing: &allowance)
    }

    /// The same. Also nil, with input that is left, when the allowance of octets that may be decompressed is used up.
    package mutating func receive(
        _ input: inout UnsafeRawBufferPointer, decompressing allowance: inout Int
    ) throws(WebSocketFailure) -> Event? {
        guard failure == nil, receivedClose == nil else {
            input.dropPrefix(input.count)
            return nil
        }
        do throws(WebSocketFailure) {
            while let event = try reader.next(&input, decompressing: &allowance) {
                switch event {
                case .message(let isText, let octets):
                    // After its own close frame this end discards messages.
                    if isOpen { return .message(isText: isText, octets) }
                case .ping(let payload):
                    guard isOpen else { continue }
                    if pongs.count == Self.mostPongs { pongs.removeFirst() }
                    pongs.append(payload)
                case .pong(let payload):
                    if let number = Self.pingNumber(payload), (1...max(lastPing, 1)).contains(number) {
                        return .pong(number)
                    }
                case .close(let frame):
                    receivedClose = frame
                    discardOutgoing()
                    if closeFrame == nil { closeFrame = WebSocketCloseFrame(code: frame.code) }
                    return .closed(frame)
                }
            }
            return nil
        } catch {
            failure = error
            throw error
        }
    }

    /// Fails the connection after an error of `receive`. What `encode` still makes is sent, then the connection closed.
    package mutating func fail() {
        guard let failure else { return }
        discardOutgoing()
        if closeFrame == nil { closeFrame = WebSocketCloseFrame(code: failure.closeCode) }
        giveUpOpenFrame()
    }

    private mutating func discardOutgoing() {
        outgoing = FIFOQueue()
        openPayload = nil
        pongs = []
    }

    private static func pingPayload(_ number: Int) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    private static func pingNumber(_ payload: [UInt8]) -> Int? {
        payload.count == 8 ? payload.reduce(0) { $0 << 8 | Int($1) } : nil
    }

    // MARK: What goes out

    /// Whether `encode` would append anything.
    package var hasOutput: Bool {
        hasOpenFrame || !pongs.isEmpty || hasOpenPayload || !outgoing.isEmpty
            || closeFrame != nil && !isCloseEncoded
    }

    /// Appends frames to `output` until nothing waits, it has at least `limit` octets, or 64 KiB of payloads were
    /// compressed.
    package mutating func encode(into output: inout [UInt8], limit: Int) -> Progress {
        let start = output.count
        defer { encodedCount += output.count - start }
        var allowance = Self.pieceLength
        while output.count < limit {
            if hasOpenFrame {
                encodePiece(into: &output, from: start)
            } else if !pongs.isEmpty {
                encodeControl(.pong, pongs.removeFirst(), into: &output)
            } else if hasOpenPayload, let message = openPayload, let deflater {
                // What is not longer than a piece is one frame.
                let count = min(Self.pieceLength, message.payload.count - message.offset)
                guard count <= allowance else { return .pausing }
                allowance -= count
                guard compress(count, of: message, with: deflater, into: &output) else { return .outOfMemory }
            } else if let next = outgoing.popFirst() {
                encode(next, into: &output, from: start)
            } else if let closeFrame, !isCloseEncoded {
                isCloseEncoded = true
                encodeControl(.close, closeFrame.payload, into: &output)
            } else {
                return .done
            }
        }
        return .done
    }

    /// So many more octets of what was encoded have left the buffers of this end.
    package mutating func sent(_ count: Int) { sentCount += count }

    /// The number of the next payload that has been sent whole, each once.
    package mutating func nextSent() -> Int? {
        completions.popFirst { [sentCount] in $0.end <= sentCount }?.number
    }

    private mutating func encodeControl(_ opcode: WebSocketOpcode, _ payload: [UInt8], into output: inout [UInt8]) {
        let key = maskingKeys.next()
        let header = WebSocketFrameHeader(opcode: opcode, payloadLength: payload.count)
        payload.withUnsafeBytes { WebSocketMask.append($0, after: header, key: key, to: &output) }
    }

    private mutating func encode(_ next: consuming Outgoing, into output: inout [UInt8], from start: Int) {
        switch consume next {
        case .ping(let number):
            encodeControl(.ping, Self.pingPayload(number), into: &output)
        case .data(let part, let payload, let number):
            let (opcode, isFinal): (WebSocketOpcode, Bool) =
                switch part {
                case .whole(let isText): (isText ? .text : .binary, true)
                case .first(let isText): (isText ? .text : .binary, false)
                case .middle: (.continuation, false)
                case .last: (.continuation, true)
                }
            if deflater != nil {
                openPayload = OpenPayload(payload: payload, opcode: opcode, isFinal: isFinal, number: number)
                return
            }
            let key = maskingKeys.next()
            let header = WebSocketFrameHeader(isFinal: isFinal, opcode: opcode, payloadLength: payload.count)
            if header.payloadLength <= Self.pieceLength {
                payload.withUnsafeBytes { WebSocketMask.append($0, after: header, key: key, to: &output) }
                completions.append((number, encodedCount + output.count - start))
            } else {
                header.write(maskingKey: key, to: &output)
                openFrame = OpenFrame(payload: payload, key: key, number: number)
                encodePiece(into: &output, from: start)
            }
        }
    }

    private mutating func encodePiece(into output: inout [UInt8], from start: Int) {
        guard let frame = openFrame else { return }
        let end = min(frame.offset + Self.pieceLength, frame.payload.count)
        frame.payload.withUnsafeBytes { octets in
            // The caller's payload keeps its length; if it did not, the frame would be short and no memory harmed.
            let piece = UnsafeRawBufferPointer(rebasing: octets.prefix(end).dropFirst(frame.offset))
            WebSocketMask.append(piece, key: frame.key, offset: frame.offset, to: &output)
        }
        if end == frame.payload.count {
            if let number = frame.number { completions.append((number, encodedCount + output.count - start)) }
            openFrame = nil
        } else {
            openFrame?.offset = end
        }
    }

    /// Compresses a piece of a payload, and begins the frame with what comes out. False without memory.
    private mutating func compress(
        _ count: Int, of message: OpenPayload, with deflater: WebSocketDeflater, into output: inout [UInt8]
    ) -> Bool {
        let end = message.offset + count
        let isLast = end == message.payload.count
        var compressed: [UInt8]?
        message.payload.withUnsafeBytes { octets in
            // The caller's payload keeps its length; if it did not, the message would be short and no memory harmed.
            let piece = UnsafeRawBufferPointer(rebasing: octets.prefix(end).dropFirst(message.offset))
            compressed = deflater.deflate(piece, isFinal: message.isFinal && isLast)
        }
        guard let compressed else { return false }
        var rest: OpenPayload? = message
        rest?.offset = end
        // zlib may keep a piece until it has more.
        if !compressed.isEmpty || isLast {
            var header = WebSocketFrameHeader(
                isFinal: message.isFinal && isLast, opcode: message.opcode, payloadLength: compressed.count)
            header.isCompressed = message.opcode != .continuation
            let key = maskingKeys.next()
            header.write(maskingKey: key, to: &output)
            openFrame = OpenFrame(
                payload: WebSocketOctets(compressed), key: key, number: isLast ? message.number : nil)
            rest?.opcode = .continuation
        }
        openPayload = isLast ? nil : rest
        return true
    }
}

/// The masking keys of a connection. Each is used once, and none can be predicted from others (RFC 6455 §5.3).
package struct WebSocketMaskingKeys: Sendable {
    private let fill: @Sendable (UnsafeMutableRawBufferPointer) -> Void
    private var keys: [UInt32]
    private var index: Int

    /// How many keys are fetched with one call.
    private static let count = 64

    /// - Parameter fill: Fills memory with octets of the kernel's random source.
    package init(_ fill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) {
        self.fill = fill
        keys = []
        index = 0
    }

    mutating func next() -> UInt32 {
        if index == keys.count {
            if keys.isEmpty { keys = Array(repeating: 0, count: Self.count) }
            keys.withUnsafeMutableBytes { fill($0) }
            index = 0
        }
        defer { index += 1 }
        return keys[index]
    }
}
