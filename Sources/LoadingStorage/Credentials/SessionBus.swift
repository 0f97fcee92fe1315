internal import Glibc

/// The D-Bus session bus.
///
/// Only an existing local bus is used: no bus is started, and none is contacted over a network.
package enum SessionBus {
    /// Returns nil if there is none. Costs one system call.
    package static func address(environment: (String) -> String?) -> String? {
        if let list = environment("DBUS_SESSION_BUS_ADDRESS"), !list.isEmpty {
            let local = list.split(separator: ";").filter { $0.hasPrefix("unix:") }
            return local.isEmpty ? nil : local.joined(separator: ";")
        }
        guard let folder = environment("XDG_RUNTIME_DIR"), folder.hasPrefix("/") else { return nil }
        let path = folder + "/bus"
        return access(path, F_OK) == 0 ? "unix:path=" + escaped(path) : nil
    }

    /// Escapes by the D-Bus Specification, "Server Addresses".
    private static func escaped(_ path: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
                UInt8(ascii: "."), UInt8(ascii: "\\"), UInt8(ascii: "*"):
                text.append(byte)
            default:
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
