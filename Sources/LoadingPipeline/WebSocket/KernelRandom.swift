internal import CLoadingLinux
internal import Glibc

/// Octets of the kernel's random source, which cannot be predicted from earlier ones (RFC 6455 §10.3).
enum KernelRandom {
    static func octets(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            fill(UnsafeMutableRawBufferPointer(buffer))
            filled = count
        }
    }

    @Sendable static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        var filled = 0
        while filled < buffer.count {
            let count = cll_random(buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
            if count > 0 {
                filled += count
            } else if cll_errno() != EINTR {
                break
            }
        }
        // A kernel without the call, or a sandbox that forbids it: the standard library opens the device instead.
        while filled < buffer.count {
            buffer[filled] = UInt8.random(in: .min ... .max)
            filled += 1
        }
    }
}
