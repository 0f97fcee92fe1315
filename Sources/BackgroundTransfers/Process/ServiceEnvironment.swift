internal import CLoadingDaemon
internal import LoadingStorage
internal import LoadingTransport

/// The environment of the service: what it needs of its starter's. The service also works for other programs, so it
/// gets nothing else.
enum ServiceEnvironment {
    private static let keyLogVariable = "SSLKEYLOGFILE"
    private static let names: Set<String> = [
        "HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR",
        // The libraries of an executable may be found through it.
        "LD_LIBRARY_PATH",
        // Proxies, in both spellings.
        "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY",
        "ALL_PROXY", "NO_PROXY",
        // The resolver's.
        "LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES",
        // What is written about connections. The service makes those of its transfers itself.
        "QLOGDIR", keyLogVariable,
        // A program that is launched shows its windows there.
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
    ]
    private static let prefixes = ["XDG_", "LC_", "SSL_CERT_", "DBUS_", "KRB5", "URLSESSION_"]

    /// The variables for a service at that place, as `NAME=value`.
    static func variables(for place: ServicePlace, preloading library: String?) -> [String] {
        var variables = current.filter { variable in
            let name = variable.prefix { $0 != "=" }
            return names.contains(String(name)) || prefixes.contains { name.hasPrefix($0) }
        }
        // A program that writes no keys starts a service that writes none.
        if !TLSKeyLog.isAllowed { variables.removeAll { $0.hasPrefix(keyLogVariable + "=") } }
        // The service is launched for itself, not for a session.
        variables.removeAll { $0.hasPrefix(ProgramLauncher.identifierVariable + "=") }
        variables += [
            CLD_SOCKET_VARIABLE + "=3",
            ServicePlace.stateVariable + "=" + place.state.path,
            ServicePlace.runtimeVariable + "=" + place.runtime.path,
        ]
        if let library { variables.append("LD_PRELOAD=" + library) }
        return variables
    }

    private static var current: [String] {
        guard var next = cld_environment() else { return [] }
        var variables: [String] = []
        while let variable = next.pointee {
            variables.append(String(cString: variable))
            next += 1
        }
        return variables
    }
}
