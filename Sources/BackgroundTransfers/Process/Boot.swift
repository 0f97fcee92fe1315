internal import Glibc

/// The id of the machine's present boot. Bytes that were not synced are lost if it has changed.
package enum Boot {
    /// Empty if the system does not tell it.
    package static let identifier: String = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            count = max(0, read(descriptor, buffer.baseAddress, 64))
        }
        return String(decoding: bytes.prefix { $0 > 0x20 }, as: UTF8.self)
    }()

    /// Whether it is known that this is not the boot of that id.
    static func isKnownToDiffer(from other: String) -> Bool {
        !identifier.isEmpty && !other.isEmpty && identifier != other
    }
}
