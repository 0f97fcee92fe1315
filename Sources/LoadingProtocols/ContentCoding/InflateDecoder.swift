internal import CLoadingZlib

/// Decodes `gzip` and `deflate`.
///
/// gzip may have several members. Bytes after the last one are ignored, because some servers add padding. `deflate` is
/// zlib's format, but some servers send raw deflate (RFC 9110 §8.4.1.2). The first byte shows which: the low four bits
/// of a zlib stream are 8, which in raw deflate would be a stored block with padding bits set; encoders do not make it.
final class InflateDecoder: CodingDecoder {
    private enum State {
        case untouched
        case inflating
        /// Between gzip members. `sawFirstMagicByte`: after 0x1F; 0x8B would start another member.
        case betweenMembers(sawFirstMagicByte: Bool)
        case ended
        case failed(ContentCodingError)
    }

    private let isGzip: Bool
    private var state = State.untouched
    /// zlib keeps a pointer back to its `z_stream`, so that must not move.
    private var stream: UnsafeMutablePointer<z_stream>?

    init(isGzip: Bool) { self.isGzip = isGzip }

    deinit {
        guard let stream else { return }
        inflateEnd(stream)
        stream.deallocate()
    }

    var failure: ContentCodingError? {
        if case .failed(let error) = state { error } else { nil }
    }

    var isComplete: Bool {
        switch state {
        case .untouched, .betweenMembers, .ended: true
        case .inflating, .failed: false
        }
    }

    func decode(_ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
        var produced = 0
        while produced < output.count {
            switch state {
            case .untouched:
                guard let first = input.first else { return produced }
                open(firstByte: first)
            case .inflating:
                produced += inflate(&input, into: output.skipping(produced))
                if case .inflating = state, input.isEmpty, produced < output.count { return produced }
            case .betweenMembers(let sawFirstMagicByte):
                guard let next = input.first else { return produced }
                if sawFirstMagicByte, next == 0x8B {
                    input = input.skipping(1)
                    beginMember()
                } else if !sawFirstMagicByte, next == 0x1F {
                    input = input.skipping(1)
                    state = .betweenMembers(sawFirstMagicByte: true)
                } else {
                    state = .ended
                }
            case .ended:
                input = input.skipping(input.count)
                return produced
            case .failed:
                return produced
            }
        }
        return produced
    }

    private func open(firstByte: UInt8) {
        let new = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        new.initialize(to: z_stream())
        let windowBits: Int32
        if isGzip {
            windowBits = 15 + 16
        } else {
            windowBits = firstByte & 0x0F == 8 ? 15 : -15
        }
        guard inflateInit2_(new, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            new.deallocate()
            state = .failed(.outOfMemory)
            return
        }
        stream = new
        state = .inflating
    }

    /// Starts the next gzip member, whose two magic bytes are consumed already.
    private func beginMember() {
        guard let stream, inflateReset(stream) == Z_OK else {
            state = .failed(.corrupt)
            return
        }
        let magic: [UInt8] = [0x1F, 0x8B]
        let isAccepted = magic.withUnsafeBytes { bytes in
            var bytes = bytes
            var nothing: UInt8 = 0
            return withUnsafeMutableBytes(of: &nothing) { step(stream, &bytes, $0).result == Z_OK } && bytes.isEmpty
        }
        state = isAccepted ? .inflating : .failed(.corrupt)
    }

    private func inflate(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Int {
        guard let stream else { return 0 }
        let (result, produced) = step(stream, &input, output)
        switch result {
        case Z_OK: break
        // Not an error: nothing to do without more input.
        case Z_BUF_ERROR where input.isEmpty: break
        case Z_STREAM_END: state = isGzip ? .betweenMembers(sawFirstMagicByte: false) : .ended
        case Z_MEM_ERROR: state = .failed(.outOfMemory)
        default: state = .failed(.corrupt)
        }
        return produced
    }

    /// One call of zlib.
    private func step(
        _ stream: UnsafeMutablePointer<z_stream>, _ input: inout UnsafeRawBufferPointer,
        _ output: UnsafeMutableRawBufferPointer
    ) -> (result: Int32, produced: Int) {
        let offered = UInt32(clamping: input.count)
        let room = UInt32(clamping: output.count)
        // zlib's API predates const; it only reads through next_in.
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = offered
        stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = room
        let result = CLoadingZlib.inflate(stream, Z_NO_FLUSH)
        input = input.skipping(Int(offered - stream.pointee.avail_in))
        return (result, Int(room - stream.pointee.avail_out))
    }
}
