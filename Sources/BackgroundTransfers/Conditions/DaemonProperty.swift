internal import LoadingTransport

/// A property of a daemon on the system bus, followed over one connection. Confined to the loop of the connection.
///
/// Only the present owner of the daemon's name is asked and listened to, because any program may send signals. Its
/// signals only say that something has changed: the value is read again, once for all changes that come meanwhile.
final class DaemonProperty {
    struct Place {
        let daemon: String
        let path: String
        let interface: String
        let property: String
        /// Whether the bus is asked to start the daemon.
        let startsDaemon: Bool

        /// UPower is started by the first program that needs it, so it may not run although it is installed.
        static let onBattery = Place(
            daemon: "org.freedesktop.UPower", path: "/org/freedesktop/UPower", interface: "org.freedesktop.UPower",
            property: "OnBattery", startsDaemon: true)
        static let metered = Place(
            daemon: "org.freedesktop.NetworkManager", path: "/org/freedesktop/NetworkManager",
            interface: "org.freedesktop.NetworkManager", property: "Metered", startsDaemon: false)
    }

    private let place: Place
    private let bus: BusClient
    private let changed: () -> Void
    /// The daemon's unique name on the bus.
    private var owner: String?
    private var isReading = false
    private var mustReadAgain = false

    /// Nil if there is no daemon, or it does not reply with a value.
    private(set) var value: BusValue?
    /// Whether the first reply has come.
    private(set) var isKnown = false

    private static let properties = "org.freedesktop.DBus.Properties"

    init(_ place: Place, on bus: BusClient, changed: @escaping () -> Void) {
        self.place = place
        self.bus = bus
        self.changed = changed
        // The bus handles calls in their order: an owner that comes after the reply is announced by a signal. Without
        // these signals there is nothing to wait for.
        let busName = BusClient.busName
        match("sender='\(busName)',interface='\(busName)',member='NameOwnerChanged',arg0='\(place.daemon)'")
        match(
            """
            sender='\(place.daemon)',path='\(place.path)',interface='\(Self.properties)',\
            member='PropertiesChanged',arg0='\(place.interface)'
            """)
        findOwner(startsDaemon: place.startsDaemon)
    }

    private func match(_ rule: String) {
        bus.call(.toBus("AddMatch", .text("type='signal',\(rule)"))) { _ in }
    }

    private func findOwner(startsDaemon: Bool) {
        bus.call(.toBus("GetNameOwner", .text(place.daemon))) { [weak self] result in
            guard let self, self.owner == nil else { return }
            switch result {
            case .success(let values): self.setOwner(Self.name(values.first))
            case .failure where startsDaemon: self.startDaemon()
            case .failure: self.setOwner(nil)
            }
        }
    }

    private func startDaemon() {
        bus.call(.toBus("StartServiceByName", .text(place.daemon), .uint32(0))) { [weak self] result in
            guard let self, self.owner == nil else { return }
            switch result {
            case .success: self.findOwner(startsDaemon: false)
            case .failure: self.setOwner(nil)
            }
        }
    }

    private func setOwner(_ name: String?) {
        owner = name
        if name == nil { setValue(nil) } else { read() }
    }

    private static func name(_ value: BusValue?) -> String? {
        guard case .text(let name)? = value, !name.isEmpty else { return nil }
        return name
    }

    private func read() {
        guard let owner else { return }
        guard !isReading else { return mustReadAgain = true }
        isReading = true
        mustReadAgain = false
        let call = BusCall(
            destination: place.daemon, path: place.path, interface: Self.properties, method: "Get",
            arguments: [.text(place.interface), .text(place.property)], startsDestination: false)
        bus.call(call) { [weak self] result in
            guard let self else { return }
            self.isReading = false
            if self.mustReadAgain { return self.read() }
            // The daemon may have gone meanwhile.
            if self.owner == owner { self.setValue(try? result.get().first) }
        }
    }

    private func setValue(_ value: BusValue?) {
        guard !isKnown || value != self.value else { return }
        isKnown = true
        self.value = value
        changed()
    }

    /// Handles a signal that may be about this property.
    func handle(_ signal: BusMessage) {
        switch signal.member {
        case "NameOwnerChanged"
        where signal.sender == BusClient.busName && signal.interface == BusClient.busName
            && signal.values.first == .text(place.daemon):
            setOwner(Self.name(signal.values.last))
        case "PropertiesChanged" where signal.sender == owner && signal.path == place.path: read()
        default: break
        }
    }
}
