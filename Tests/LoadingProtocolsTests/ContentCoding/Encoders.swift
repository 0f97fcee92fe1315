import CLoadingZlib
import CTestZstd
import FoundationEssentials
import LoadingProtocols

/// Coded bodies for the decoder's tests, made by the codings' own libraries.
enum Encoders {
    enum DeflateFormat: Int32 {
        case gzip = 31
        case zlib = 15
        case raw = -15
    }

    static func deflate(_ body: [UInt8], as format: DeflateFormat) -> [UInt8] {
        var body = body
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        deflateInit2_(&stream, 6, Z_DEFLATED, format.rawValue, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        defer { deflateEnd(&stream) }
        let bound = Int(deflateBound(&stream, UInt(body.count)))
        return body.withUnsafeMutableBufferPointer { from in
            [UInt8](unsafeUninitializedCapacity: bound) { to, count in
                stream.next_in = from.baseAddress
                stream.avail_in = UInt32(from.count)
                stream.next_out = to.baseAddress
                stream.avail_out = UInt32(to.count)
                CLoadingZlib.deflate(&stream, Z_FINISH)
                count = to.count - Int(stream.avail_out)
            }
        }
    }

    /// With a checksum at the end of the frame.
    static func zstd(_ body: [UInt8]) -> [UInt8] {
        let context = ZSTD_createCCtx()
        defer { ZSTD_freeCCtx(context) }
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)
        return [UInt8](unsafeUninitializedCapacity: ZSTD_compressBound(body.count)) { to, count in
            count = ZSTD_compress2(context, to.baseAddress, to.count, body, body.count)
        }
    }

    /// A zstd frame that asks for a window of 16 MiB.
    static func zstdWithHugeWindow() -> [UInt8] {
        // Magic number; descriptor: nothing optional; window descriptor: exponent 14; an empty last raw block.
        [0x28, 0xB5, 0x2F, 0xFD, 0x00, 14 << 3, 0x01, 0x00, 0x00]
    }

    /// `sample` in brotli, whose encoder is not among the package's dependencies.
    static let brotliSample = [UInt8](
        Data(
            base64Encoded: """
                G1cC+KXDxMbIhHbBgITyb3Jwt/rbwPoU8PMSrta/RqsotBNeRNnGzs4aM0JK+7RAGNfG/RXVty4oX/jAl1t0k8sZrYOeDOalA9sHnpq1\
                GrdkvWwwd/ILtc82wJHnbVKFF50X4ey9GjIsTM8vJBa2KkQznv3Rwtgl9dTfT11HomlL65kcnYTQSwqHXGVmULdWuMueGrgsSsgNl8y1\
                x9dNrT2lEA==
                """) ?? Data())

    /// 64 MiB of zeros in brotli.
    static let brotliBomb = [UInt8](
        Data(
            base64Encoded: """
                y///PwAkAOKxQHLv//j//weABEAcFoDu/R////8AkACIwwLQvf/j//8fABIAcVgAuvd//P//A0ACIA4LQPf+j///fwBIAMRhAeje//H/\
                /w8ACYA4LADd+7/8//8DIAEQhwWge/8H
                """) ?? Data())

    /// 600 letters that compress, but not to nothing.
    static let sample: [UInt8] = {
        var state: UInt32 = 1
        return (0..<600).map { _ in
            state = (state &* 1_103_515_245 &+ 12345) & 0x7FFF_FFFF
            return UInt8(97 + (state >> 16) % 4)
        }
    }()
}

/// What came out of a decoder, and how it ended.
struct Decoded: Equatable {
    var bytes: [UInt8] = []
    var error: ContentCodingError?
}

/// Gives `body` to a decoder in pieces of `inputSize` and fetches its output through a buffer of `outputSize`.
func decode(
    _ body: [UInt8], _ codings: [String], inputSize: Int = .max, outputSize: Int = 4096
) -> Decoded? {
    var decoded = Decoded()
    do throws(ContentCodingError) {
        guard let decoder = try ContentDecoder(codings: codings) else { return nil }
        var buffer = [UInt8](repeating: 0, count: outputSize)
        var offset = 0
        while offset < body.count {
            let end = offset + min(inputSize, body.count - offset)
            let piece = Array(body[offset..<end])
            offset = end
            try decoder.decodeAll(piece, through: &buffer) { decoded.bytes += $0 }
        }
        try decoder.finish()
    } catch {
        decoded.error = error
    }
    return decoded
}

extension ContentDecoder {
    /// Decodes one piece of input and hands each filling of `buffer` to `take`.
    func decodeAll(
        _ piece: [UInt8], through buffer: inout [UInt8], take: (ArraySlice<UInt8>) -> Void
    ) throws(ContentCodingError) {
        var consumed = 0
        while true {
            var failure: ContentCodingError?
            let produced = piece.withUnsafeBytes { whole in
                var rest = UnsafeRawBufferPointer(rebasing: whole[consumed...])
                let produced = buffer.withUnsafeMutableBytes { room in
                    do throws(ContentCodingError) {
                        return try decode(&rest, into: room)
                    } catch {
                        failure = error
                        return 0
                    }
                }
                consumed = whole.count - rest.count
                return produced
            }
            if let failure { throw failure }
            if produced == 0, !isInterrupted { break }
            take(buffer[..<produced])
        }
        precondition(consumed == piece.count, "a decoder that returns 0 has used up its input")
    }
}
