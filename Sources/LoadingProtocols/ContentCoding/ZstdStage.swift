internal import CLoadingZstd

/// Decodes `zstd` (RFC 8878). Several frames may follow; other bytes after a complete frame are ignored.
final class ZstdStage: DecodingStage {
    private let library = clz_load()
    private var decoder: OpaquePointer?
    /// Whether the last call filled its output, so more may be available without input. The library reports repeated
    /// calls without progress as an error.
    private var mayHoldOutput = false
    private var isBetweenFrames = true
    private var hasDecodedFrame = false
    private var hasEnded = false
    private(set) var failure: ContentCodingError?

    deinit {
        if let decoder { _ = library?.pointee.ZSTD_freeDCtx(decoder) }
    }

    var isComplete: Bool { isBetweenFrames || hasEnded }

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
            input = input.skipping(from.pos)
            isBetweenFrames = result == 0
            if isBetweenFrames { hasDecodedFrame = true }
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
