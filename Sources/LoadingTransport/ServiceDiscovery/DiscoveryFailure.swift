/// Why services cannot be found, resolved or published.
package enum DiscoveryFailure: Error, Hashable, Sendable {
    /// libdbus is not installed. With the name of its file.
    case libraryMissing(String)
    /// No bus listens there; nil if the environment allows none that may be used.
    case busMissing(address: String?)
    /// Avahi does not run, and the bus cannot start it.
    case daemonMissing
    /// The bus or the daemon has ended the connection, or does not answer.
    case connectionLost
    /// The daemon sent what its interface does not have.
    case unexpectedReply
    /// The daemon refused a call. With the name of its error.
    case refused(String)
    /// Names, types, ports or records that DNS-SD does not allow.
    case invalidArgument
    /// Another service has the name.
    case collision
    /// There is no such service or host.
    case notFound
    /// Nothing was found within the requested time.
    case timedOut
    /// The process has no descriptor, no thread or no memory left, or is a fork of the one that discovers.
    case noResources

    /// One sentence: what is missing, and what to do.
    package var reason: String {
        switch self {
        case .libraryMissing(let name):
            """
            The library \(name), through which Avahi is asked, is not installed: install libdbus-1-3 (Debian, Ubuntu) \
            or dbus-libs (Fedora).
            """
        case .busMissing(let address?):
            """
            There is no D-Bus system bus at \(address): install and start dbus, or set DBUS_SYSTEM_BUS_ADDRESS to the \
            bus on which Avahi is.
            """
        case .busMissing(nil):
            "DBUS_SYSTEM_BUS_ADDRESS names no local bus: unset it, or set it to an address that begins with unix:."
        case .daemonMissing:
            "Avahi does not run, and services are found through it: install and start avahi-daemon."
        case .connectionLost:
            "The D-Bus system bus or avahi-daemon ended the connection or does not answer: see whether both run."
        case .unexpectedReply:
            "The reply of avahi-daemon has another form than its interface: see whether another program took its name."
        case .refused(let name):
            "avahi-daemon refused the request with \(name): see its log."
        case .invalidArgument:
            """
            The name, type, domain, port or TXT record is not valid: a type is like _http._tcp, and a name has at most \
            63 bytes.
            """
        case .collision: "Another service has this name already: choose another name."
        case .notFound: "There is no such service or host in the local network: see whether it is published."
        case .timedOut: "Nothing in the local network answered in time: see whether the service is published."
        case .noResources:
            "The process has no descriptor, thread or memory left, or was forked from one that uses the library."
        }
    }

    init(_ failure: BusFailure) {
        switch failure {
        case .libraryMissing(let name): self = .libraryMissing(name)
        case .busMissing(let address): self = .busMissing(address: address)
        case .connectionLost: self = .connectionLost
        case .refused(let name): self = DiscoveryFailure(errorName: name)
        case .invalidArgument: self = .invalidArgument
        case .noResources: self = .noResources
        }
    }

    /// The failure that an error of the bus or of Avahi means.
    init(errorName name: String) {
        let avahi = "org.freedesktop.Avahi."
        guard name.hasPrefix(avahi) else {
            switch name {
            case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
                "org.freedesktop.DBus.Error.FileNotFound":
                self = .daemonMissing
            case _ where name.hasPrefix("org.freedesktop.DBus.Error.Spawn."): self = .daemonMissing
            // The unit that would start the daemon is masked or missing.
            case _ where name.hasPrefix("org.freedesktop.systemd1."): self = .daemonMissing
            case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout",
                "org.freedesktop.DBus.Error.Disconnected":
                self = .connectionLost
            default: self = .refused(name)
            }
            return
        }
        switch name.dropFirst(avahi.count) {
        case "TimeoutError": self = .timedOut
        case "NotFoundError", "DNSNXDOMAIN", "IsEmptyError": self = .notFound
        case "CollisionError", "LocalCollisionError": self = .collision
        case "InvalidHostNameError", "InvalidDomainNameError", "InvalidServiceNameError", "InvalidServiceTypeError",
            "InvalidPortError", "InvalidRecordError", "InvalidArgumentError", "InvalidFlagsError", "InvalidKeyError",
            "InvalidTTLError", "InvalidServiceSubtypeError", "InvalidRDATAError":
            self = .invalidArgument
        case "DisconnectedError": self = .connectionLost
        default: self = .refused(name)
        }
    }
}
