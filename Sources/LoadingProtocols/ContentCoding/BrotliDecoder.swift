internal import CLoadingBrotli

/// Decodes `br` (RFC 7932). Bytes after the end of the stream are ignored.
final class BrotliDecoder: CodingDecoder {
    static var isAvailable: Bool { clb_load() != nil }

    private let library = clb_load()
    private var decoder: OpaquePointer?
    private var hasEnded = false
    private(set) var failure: ContentCodingError?

    deinit {
        if let decoder { library?.pointee.BrotliDecoderDestroyInstance(decoder) }
    }

    var isComplete: Bool { decoder == nil || hasEnded }

    func decode(_ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int {
        if failure != nil { return 0 }
        if hasEnded {
            input = input.skipping(input.count)
            return 0
        }
        if decoder == nil {
            if input.isEmpty { return 0 }
            decoder = library?.pointee.BrotliDecoderCreateInstance(nil, nil, nil)
        }
        guard let library, let decoder else {
            failure = library == nil ? .libraryMissing("libbrotlidec.so.1") : .outOfMemory
            return 0
        }
        var availableIn = input.count
        var nextIn = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var availableOut = output.count
        var nextOut = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = library.pointee.BrotliDecoderDecompressStream(
            decoder, &availableIn, &nextIn, &availableOut, &nextOut, nil)
        input = input.skipping(input.count - availableIn)
        switch result {
        case BROTLI_DECODER_RESULT_SUCCESS:
            hasEnded = true
            input = input.skipping(input.count)
        case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT, BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
            break
        default:
            failure = .corrupt
        }
        return output.count - availableOut
    }
}
