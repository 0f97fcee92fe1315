internal import Glibc

/// The id of the machine's present boot. Bytes that were not synced are lost if it has changed.
package enum Boot {
    /// Empty if the system does not report it.
    package static let identifier: String = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
            count = max(0, read(descriptor, buffer.baseAddress, 64))
        }
        return String(decoding: bytes.prefix { $0 > 0x20 }, as: UTF8.self)
    }()

    /// Whether both ids are known to be those of the same boot. Unknown ones may be those of two.
    static func areSame(_ one: String, _ other: String) -> Bool { !one.isEmpty && one == other }
}
