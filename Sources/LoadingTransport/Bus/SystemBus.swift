/// The address of the D-Bus system bus.
///
/// Only a local bus is used: none is contacted over a network, and none is started.
package enum SystemBus {
    /// Where the bus is by the D-Bus Specification, "Well-known Message Bus Instances", as distributions build it.
    private static let standardAddress = "unix:path=/run/dbus/system_bus_socket"

    /// Returns nil if the environment names only buses that are not used.
    package static func address(environment: (String) -> String?) -> String? {
        guard let list = environment("DBUS_SYSTEM_BUS_ADDRESS"), !list.isEmpty else { return standardAddress }
        let local = list.split(separator: ";").filter { $0.hasPrefix("unix:") }
        return local.isEmpty ? nil : local.joined(separator: ";")
    }
}
