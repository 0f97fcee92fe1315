import Foundation
import Glibc

/// A sparse file: zeros, with a marker in each 16 MiB that contains its offset.
enum SparseBody {
    private static let spacing = 16 * 1024 * 1024
    private static let markLength = 8

    private static func mark(at position: Int) -> UInt64 { UInt64(position) &* 0x9E37_79B9_7F4A_7C15 | 1 }

    /// Returns false if the file cannot be created.
    static func write(to path: String, size: Int) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard ftruncate(descriptor, off_t(size)) == 0 else { return false }
        for position in stride(from: 0, through: size - markLength, by: spacing) {
            var mark = mark(at: position)
            guard pwrite(descriptor, &mark, markLength, off_t(position)) == markLength else { return false }
        }
        return true
    }

    static func matches(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        var position = 0
        while position < bytes.count {
            let within = (offset + position) % spacing
            if within < markLength {
                let expected = withUnsafeBytes(of: mark(at: offset + position - within)) { $0[within] }
                guard bytes[position] == expected else { return false }
                position += 1
            } else {
                let count = min(bytes.count - position, spacing - within)
                guard areZeros(UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])) else {
                    return false
                }
                position += count
            }
        }
        return true
    }

    private static func areZeros(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress, bytes.first == 0 else { return bytes.isEmpty }
        return memcmp(start, start + 1, bytes.count - 1) == 0
    }
}
