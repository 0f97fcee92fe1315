import CTestNGHTTP2

/// Reads the header blocks that a session has sent, in order, by a decoder that is not the session's.
final class HTTP2FieldReader {
    private var inflater: OpaquePointer?

    init() {
        nghttp2_hd_inflate_new(&inflater)
    }

    deinit {
        if let inflater { nghttp2_hd_inflate_del(inflater) }
    }

    /// `name: value`, with an exclamation mark behind what may be in no table.
    func lines(_ block: [UInt8]) -> [String] {
        var lines: [String] = []
        var offset = 0
        while true {
            var field = nghttp2_nv()
            var flags: Int32 = 0
            let count = block.withUnsafeBufferPointer {
                nghttp2_hd_inflate_hd2(
                    inflater, &field, &flags, $0.baseAddress.map { $0 + offset }, $0.count - offset, 1)
            }
            guard count >= 0 else { return lines + ["error \(count)"] }
            offset += count
            if flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) != 0 {
                let name = String(decoding: UnsafeBufferPointer(start: field.name, count: field.namelen), as: UTF8.self)
                let value = String(
                    decoding: UnsafeBufferPointer(start: field.value, count: field.valuelen), as: UTF8.self)
                lines.append("\(name): \(value)" + (field.flags & 1 != 0 ? " !" : ""))
            }
            if flags & Int32(NGHTTP2_HD_INFLATE_FINAL.rawValue) != 0 {
                nghttp2_hd_inflate_end_headers(inflater)
                return lines
            }
            if offset == block.count, flags & Int32(NGHTTP2_HD_INFLATE_EMIT.rawValue) == 0 { return lines }
        }
    }
}
