internal import CLoadingOctets

/// Finds the lines of UTF-8 that are not empty. It searches for the last byte of each terminator and looks back from
/// there, so terminators may be split across buffers. CR LF yields an empty line, which is omitted.
@usableFromInline
package struct LineScanner: ByteScanner {
    private var buffer = ByteBuffer()
    /// The beginning of the current line, from earlier buffers.
    private var begun: [UInt8] = []

    /// Larger buffers are freed after use. In bytes.
    private static let keptCapacity = 64 * 1024

    package init() {}

    @usableFromInline
    package mutating func refill(_ bytes: [UInt8]) { buffer.refill(bytes) }

    @usableFromInline
    package mutating func refill(_ byte: UInt8) { buffer.refill(byte) }

    @usableFromInline
    package mutating func next() -> String? {
        while buffer.offset < buffer.bytes.count {
            let start = buffer.offset
            guard let end = endOfLine() else {
                begun.append(contentsOf: buffer.bytes[start...])
                buffer.offset = buffer.bytes.count
                return nil
            }
            buffer.offset = end.index + 1
            if let line = line(to: end, from: start) { return line }
        }
        return nil
    }

    @usableFromInline
    package mutating func finish() -> String? {
        if begun.isEmpty { return nil }
        defer { begun = [] }
        return String(decoding: begun, as: UTF8.self)
    }

    /// The end of a line: the index of its terminator's last byte, and the length of the terminator.
    private struct End {
        var index: Int
        var length: Int
    }

    /// The line between two terminators; nil if it is empty.
    private mutating func line(to end: End, from start: Int) -> String? {
        if begun.isEmpty {
            let stop = end.index + 1 - end.length
            if start == stop { return nil }
            return buffer.bytes.withUnsafeBufferPointer {
                String(decoding: UnsafeBufferPointer(rebasing: $0[start..<stop]), as: UTF8.self)
            }
        }
        begun.append(contentsOf: buffer.bytes[start...end.index])
        // `endOfLine` has checked that these bytes exist.
        begun.removeLast(end.length)
        defer { begun.removeAll(keepingCapacity: begun.count < Self.keptCapacity) }
        return begun.isEmpty ? nil : String(decoding: begun, as: UTF8.self)
    }

    private func endOfLine() -> End? {
        let start = buffer.offset
        return buffer.bytes.withUnsafeBytes { bytes in
            var index = clo_possible_line_end(bytes.baseAddress, start, bytes.count)
            while index < bytes.count {
                if let length = terminatorLength(endingAt: index, of: bytes, from: start) {
                    return End(index: index, length: length)
                }
                index = clo_possible_line_end(bytes.baseAddress, index + 1, bytes.count)
            }
            return nil
        }
    }

    /// The length of the terminator whose last byte is at `index`; nil if there is none.
    @inline(__always)
    private func terminatorLength(endingAt index: Int, of bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        switch bytes[index] {
        case 0x0A...0x0D: return 1
        case 0x85: return byte(1, before: index, of: bytes, from: start) == 0xC2 ? 2 : nil
        case 0xA8, 0xA9:
            let isSeparator =
                byte(1, before: index, of: bytes, from: start) == 0x80
                && byte(2, before: index, of: bytes, from: start) == 0xE2
            return isSeparator ? 3 : nil
        default: return nil
        }
    }

    /// An earlier byte of the same line, in the buffer or in `begun`; nil before the start of the line.
    private func byte(
        _ distance: Int, before index: Int, of bytes: UnsafeRawBufferPointer, from start: Int
    ) -> UInt8? {
        let position = index - distance
        if position >= start { return bytes[position] }
        let back = start - position
        return back <= begun.count ? begun[begun.count - back] : nil
    }
}
