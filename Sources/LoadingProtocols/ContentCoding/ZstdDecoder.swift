internal import CLoadingZstd

/// Decodes `zstd` (RFC 8878). Several frames may follow; other bytes after a complete frame are ignored.
final class ZstdDecoder: CodingDecoder {
    private let library = clz_load()
    private var decoder: OpaquePointer?
    /// Whether the last call filled its output, so more may be available without input. The library reports repeated
    /// calls without progress as an error.
    private var mayHoldOutput = false
    private var isBetweenFrames = true
    private var hasDecodedFrame = false
    /// The first bytes after a frame, at most as many as a magic number has.
    private var bytesAfterFrame: [UInt8] = []
    private var hasEnded = false
    private(set) var failure: ContentCodingError?

    deinit {
        if let decoder { _ = library?.pointee.ZSTD_freeDCtx(decoder) }
    }

    var isComplete: Bool { isBetweenFrames || hasEnded || hasDecodedFrame && !mayBeginFrame }

    /// Whether the bytes after a frame may begin another one. Some versions of the library take bytes that are too few
    /// for a header without looking at them.
    private var mayBeginFrame: Bool {
        Self.magicNumbers.contains { magic in zip(magic, bytesAfterFrame).allSatisfy { $0.contains($1) } }
    }

    private static let magicNumberLength = 4
    /// Of a frame and of a skippable one (RFC 8878 §3.1).
    private static let magicNumbers: [[ClosedRange<UInt8>]] = [
        [0x28...0x28, 0xB5...0xB5, 0x2F...0x2F, 0xFD...0xFD], [0x50...0x5F, 0x2A...0x2A, 0x4D...0x4D, 0x18...0x18],
    ]

    func decode(_ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
        var produced = 0
        while produced < output.count, failure == nil, !input.isEmpty || mayHoldOutput {
            if hasEnded {
                input = input.skipping(input.count)
                return produced
            }
            guard let library = library?.pointee else {
                failure = .libraryMissing("libzstd.so.1")
                return produced
            }
            guard let decoder = opened(library) else { return produced }
            let room = output.skipping(produced)
            var from = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
            var to = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
            let result = library.ZSTD_decompressStream(decoder, &to, &from)
            produced += to.pos
            if library.ZSTD_isError(result) != 0 {
                switch library.ZSTD_getErrorCode(result) {
                case ZSTD_error_prefix_unknown where hasDecodedFrame: hasEnded = true
                case ZSTD_error_memory_allocation: failure = .outOfMemory
                default: failure = .corrupt
                }
                continue
            }
            if hasDecodedFrame {
                bytesAfterFrame += input.prefix(min(from.pos, Self.magicNumberLength - bytesAfterFrame.count))
            }
            input = input.skipping(from.pos)
            isBetweenFrames = result == 0
            if isBetweenFrames { (hasDecodedFrame, bytesAfterFrame) = (true, []) }
            mayHoldOutput = !isBetweenFrames && to.pos == to.size
        }
        return produced
    }

    private func opened(_ library: clz_functions) -> OpaquePointer? {
        if let decoder { return decoder }
        decoder = library.ZSTD_createDCtx()
        guard let decoder,
            library.ZSTD_isError(
                library.ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax, ContentCodingLimits.zstdWindowLog)) == 0
        else {
            failure = .outOfMemory
            return nil
        }
        return decoder
    }
}
