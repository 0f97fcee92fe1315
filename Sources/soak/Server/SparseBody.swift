import Foundation
import Glibc

/// A sparse file: zeros, with a marker in each 16 MiB that contains its offset.
enum SparseBody {
    private static let spacing = 16 * 1024 * 1024
    private static let markLength = 8

    private static func mark(at place: Int) -> UInt64 { UInt64(place) &* 0x9E37_79B9_7F4A_7C15 | 1 }

    /// Returns false if the file cannot be created.
    static func write(to path: String, size: Int) -> Bool {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard ftruncate(descriptor, off_t(size)) == 0 else { return false }
        for place in stride(from: 0, through: size - markLength, by: spacing) {
            var mark = mark(at: place)
            guard pwrite(descriptor, &mark, markLength, off_t(place)) == markLength else { return false }
        }
        return true
    }

    static func matches(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        var place = 0
        while place < bytes.count {
            let within = (offset + place) % spacing
            if within < markLength {
                let expected = withUnsafeBytes(of: mark(at: offset + place - within)) { $0[within] }
                guard bytes[place] == expected else { return false }
                place += 1
            } else {
                let count = min(bytes.count - place, spacing - within)
                guard areZeros(UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])) else { return false }
                place += count
            }
        }
        return true
    }

    private static func areZeros(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress, bytes.first == 0 else { return bytes.isEmpty }
        return memcmp(start, start + 1, bytes.count - 1) == 0
    }
}
