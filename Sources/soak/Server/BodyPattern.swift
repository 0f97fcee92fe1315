import Foundation

/// The pattern of all bodies. Each byte depends on its offset, so lost, repeated or moved data are detected.
enum BodyPattern {
    private static let period = 251
    /// Long enough for a piece of up to `longest` bytes at any offset.
    private static let bytes = (0..<longest + period).map { UInt8($0 % period) }

    static let longest = 256 * 1024

    static func withBytes<Result>(at offset: Int, count: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes { all in
            let start = offset % period
            return body(UnsafeRawBufferPointer(rebasing: all[start..<start + min(count, longest)]))
        }
    }

    /// Versions of a body are the pattern at different offsets.
    static let versions = 3

    static func shift(of version: Int) -> Int { version * 83 }

    /// The present version of a changing body. Versions recur.
    static var currentVersion: Int { Int(DispatchTime.now().uptimeNanoseconds / 700_000_000) % versions }

    static func isByte(_ byte: UInt8, at offset: Int) -> Bool { byte == UInt8(offset % period) }

    static func matches(_ data: Data, at offset: Int) -> Bool {
        data.withUnsafeBytes { whole in
            var position = 0
            while position < whole.count {
                let count = min(whole.count - position, longest)
                guard let start = whole.baseAddress else { return false }
                let isEqual = withBytes(at: offset + position, count: count) { expected in
                    expected.baseAddress.map { memcmp($0, start + position, count) == 0 } ?? true
                }
                guard isEqual else { return false }
                position += count
            }
            return true
        }
    }
}
