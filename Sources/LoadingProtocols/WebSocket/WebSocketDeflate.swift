internal import CLoadingZlib

/// The parameters of permessage-deflate (RFC 7692 §7.1) that both ends have agreed on.
package struct WebSocketCompression: Equatable, Sendable {
    /// Whether each message of this end is compressed without the window of those before it.
    package var clientResets = false
    package var serverResets = false
    /// The base-two logarithm of this end's window, 8 to 15.
    package var clientWindowBits = 15

    package init(clientResets: Bool = false, serverResets: Bool = false, clientWindowBits: Int = 15) {
        self.clientResets = clientResets
        self.serverResets = serverResets
        self.clientWindowBits = clientWindowBits
    }

    /// The value of `Sec-WebSocket-Extensions` in a request. The server may choose any window of this end.
    package static let offer = "permessage-deflate; client_max_window_bits"

    /// What the server has chosen, or nil if it was not offered or is not valid: then the handshake fails (RFC 7692
    /// §5.1).
    init?(_ parameters: [(name: String, value: String?)]) {
        var known: Set<String> = []
        for (name, value) in parameters {
            guard known.insert(name).inserted else { return nil }
            switch name {
            case "client_no_context_takeover" where value == nil: clientResets = true
            case "server_no_context_takeover" where value == nil: serverResets = true
            case "client_max_window_bits":
                guard let bits = Self.windowBits(value) else { return nil }
                clientWindowBits = bits
            // The inflater has the largest window, which serves each of the server's.
            case "server_max_window_bits": guard Self.windowBits(value) != nil else { return nil }
            default: return nil
            }
        }
    }

    /// A decimal number without leading zeroes (RFC 7692 §7.1.2).
    private static func windowBits(_ text: String?) -> Int? {
        guard let text, !text.hasPrefix("0"), text.utf8.allSatisfy({ $0 &- 0x30 < 10 }), let bits = Int(text),
            (8...15).contains(bits)
        else { return nil }
        return bits
    }
}

/// What ends each compressed message, and is not sent (RFC 7692 §7.2.1): an empty block without compression.
private let flushMarker: [UInt8] = [0x00, 0x00, 0xFF, 0xFF]

/// Decompresses the messages of a server. One connection's loop uses it.
final class WebSocketInflater {
    private let resets: Bool
    /// zlib keeps a pointer back to its `z_stream`, so it must not move. Made for the first compressed message.
    private var stream: UnsafeMutablePointer<z_stream>?
    /// Lasts as long as the stream.
    private var buffer = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private static let bufferLength = 16 * 1024
    /// How many final blocks the current message has had. Each begins a stream anew, and takes two octets: no honest
    /// message has many.
    private var finalBlocks = 0
    private static let maximumFinalBlocks = 64
    /// Whether the compressed data is broken. What came out before that is judged first, wherever the data was cut.
    private var isBroken = false
    /// The part of the flush marker that has not been given to zlib.
    private var marker: ArraySlice<UInt8> = flushMarker[...]

    init(resets: Bool) { self.resets = resets }

    deinit {
        buffer.deallocate()
        guard let stream else { return }
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses from the front of `input` into memory that is valid until the next call; nil when all is consumed.
    func inflate(_ input: inout UnsafeRawBufferPointer) throws(WebSocketFailure) -> UnsafeRawBufferPointer? {
        let stream = try open()
        while true {
            if isBroken { throw .protocolError(.compression) }
            let offered = UInt32(clamping: input.count)
            // zlib's interface predates const; it only reads through next_in.
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = offered
            stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(buffer.count)
            let result = CLoadingZlib.inflate(stream, Z_SYNC_FLUSH)
            input.dropPrefix(Int(offered - stream.pointee.avail_in))
            let produced = buffer.count - Int(stream.pointee.avail_out)
            switch result {
            case Z_OK, Z_BUF_ERROR: break
            case Z_STREAM_END: try beginNextStream(stream)
            case Z_MEM_ERROR: throw .outOfMemory
            default: isBroken = true
            }
            if produced > 0 { return UnsafeRawBufferPointer(rebasing: buffer[..<produced]) }
            if !isBroken, input.isEmpty || result == Z_BUF_ERROR { return nil }
        }
    }

    /// The rest of a message all of whose octets have been given; nil when there is none, and the next message may
    /// begin.
    func finishMessage() throws(WebSocketFailure) -> UnsafeRawBufferPointer? {
        let (output, used) = try marker.withUnsafeBytesTyped { octets throws(WebSocketFailure) in
            var input = octets
            let output = try inflate(&input)
            return (output, octets.count - input.count)
        }
        marker = marker.dropFirst(used)
        if let output { return output }
        marker = flushMarker[...]
        finalBlocks = 0
        if resets, let stream { inflateReset(stream) }
        return nil
    }

    /// A message may contain a final block (RFC 7692 §7.2.3.4). Later blocks may still refer to what came before it.
    private func beginNextStream(_ stream: UnsafeMutablePointer<z_stream>) throws(WebSocketFailure) {
        finalBlocks += 1
        guard finalBlocks <= Self.maximumFinalBlocks else { throw .protocolError(.compression) }
        // Keeps the window, which `inflateReset` would forget.
        guard inflateResetKeep(stream) == Z_OK else { throw .protocolError(.compression) }
    }

    private func open() throws(WebSocketFailure) -> UnsafeMutablePointer<z_stream> {
        if let stream { return stream }
        let new = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        new.initialize(to: z_stream())
        guard inflateInit2_(new, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            new.deallocate()
            throw .outOfMemory
        }
        buffer = .allocate(byteCount: Self.bufferLength, alignment: 16)
        stream = new
        return new
    }
}

extension ArraySlice<UInt8> {
    fileprivate func withUnsafeBytesTyped<Result>(
        _ body: (UnsafeRawBufferPointer) throws(WebSocketFailure) -> Result
    ) throws(WebSocketFailure) -> Result {
        try withUnsafeBufferPointer { octets throws(WebSocketFailure) in try body(UnsafeRawBufferPointer(octets)) }
    }
}

/// Compresses the messages of this end. One connection's loop uses it.
final class WebSocketDeflater {
    private let resets: Bool
    private let windowBits: Int32
    private var stream: UnsafeMutablePointer<z_stream>?

    init(_ compression: WebSocketCompression) {
        resets = compression.clientResets
        // zlib cannot compress with a window of 256 octets, and what it makes with one of 512 may not fit the smaller
        // one.
        windowBits = Int32(compression.clientWindowBits)
    }

    /// Whether zlib has a window that the server accepts.
    var isAvailable: Bool { windowBits > 8 }

    deinit {
        guard let stream else { return }
        deflateEnd(stream)
        stream.deallocate()
    }

    /// The compressed form of a piece of a message; at its end without the flush marker. Nil without memory.
    func deflate(_ input: UnsafeRawBufferPointer, isFinal: Bool) -> [UInt8]? {
        guard let stream = stream ?? open() else { return nil }
        self.stream = stream
        var output: [UInt8] = []
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(clamping: input.count)
        repeat {
            let isMade = withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 16) { room in
                stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(room.count)
                let result = CLoadingZlib.deflate(stream, isFinal ? Z_SYNC_FLUSH : Z_NO_FLUSH)
                output.append(contentsOf: room[..<(room.count - Int(stream.pointee.avail_out))])
                return result == Z_OK || result == Z_BUF_ERROR
            }
            if !isMade { return nil }
        } while stream.pointee.avail_out == 0
        guard isFinal else { return output }
        if output.suffix(4) == flushMarker[...] { output.removeLast(4) }
        // A flush without input produces nothing the second time (RFC 7692 §7.2.3.6).
        if output.isEmpty { output = [0x00] }
        if resets { deflateReset(stream) }
        return output
    }

    private func open() -> UnsafeMutablePointer<z_stream>? {
        let new = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        new.initialize(to: z_stream())
        guard
            deflateInit2_(
                new, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
                Int32(MemoryLayout<z_stream>.size)) == Z_OK
        else {
            new.deallocate()
            return nil
        }
        return new
    }
}
