internal import Foundation
package import Testing

/// The real servers that tests run against. A test names the servers it needs, and is skipped if one is missing:
///
///     @Suite(.needs(.nginx)) struct RangeTests { … }
package enum ServerFarm {
    package enum Part: String, Sendable, CaseIterable, CustomStringConvertible {
        case nginx
        case nghttpx
        case gtlsserver
        case caddy
        /// Python, with the package aioquic.
        case aioquic
        case squid
        case danted
        case microsocks
        case curl
        case openssl
        case apache2
        case krb5kdc
        case kdb5Util = "kdb5_util"
        case kadmin = "kadmin.local"
        case kinit
        case vsftpd
        case haproxy
        case node
        case gunicorn
        case h2o
        case lighttpd
        case dbusDaemon = "dbus-daemon"
        case dbusSend = "dbus-send"
        /// The system's Python, with the package dbusmock.
        case dbusmock
        case gnomeKeyring = "gnome-keyring-daemon"
        /// The system's Python, with the package websockets.
        case websockets
        case libwebsockets = "libwebsockets-test-server"
        case websocketd
        case avahi = "avahi-daemon"
        case avahiPublish = "avahi-publish"
        case avahiBrowse = "avahi-browse"

        /// The path of the program. Servers are often outside an ordinary user's search path.
        package var executable: String? {
            if self == .aioquic { return access(Self.aioquicPython, X_OK) == 0 ? Self.aioquicPython : nil }
            if self == .websockets || self == .dbusmock {
                let module = "\(Self.systemPackages)/\(rawValue)/__init__.py"
                return access(module, R_OK) == 0 ? "/usr/bin/python3" : nil
            }
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            return (path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin", "/usr/bin"])
                .map { "\($0)/\(rawValue)" }
                .first { access($0, X_OK) == 0 }
        }

        /// The path to which scripts/install installs it.
        private static let aioquicPython = ServerFarm.cache + "/aioquic/bin/python"

        /// Where Debian's packages install modules of Python.
        private static let systemPackages = "/usr/lib/python3/dist-packages"

        /// The Debian package; nil if it is installed otherwise.
        package var package: String? {
            switch self {
            case .nginx: "nginx-light"
            case .nghttpx: "nghttp2-proxy"
            case .gtlsserver: "ngtcp2-server"
            case .aioquic: nil
            case .danted: "dante-server"
            case .krb5kdc, .kdb5Util: "krb5-kdc"
            case .kadmin: "krb5-admin-server"
            case .kinit: "krb5-user"
            case .dbusDaemon, .dbusSend: "dbus"
            case .gnomeKeyring: "gnome-keyring"
            case .avahi: "avahi-daemon"
            case .avahiPublish, .avahiBrowse: "avahi-utils"
            case .node: "nodejs"
            case .websockets: "python3-websockets"
            case .dbusmock: "python3-dbusmock"
            case .caddy, .squid, .microsocks, .curl, .openssl, .apache2, .vsftpd, .haproxy, .gunicorn, .h2o, .lighttpd,
                .libwebsockets, .websocketd:
                rawValue
            }
        }

        package var isInstalled: Bool { executable != nil }
        /// The program if it is missing.
        package var missing: Missing? { isInstalled ? nil : Missing(name: rawValue, package: package) }
        package var description: String { rawValue }

        func requireExecutable() throws -> String {
            guard let executable else { throw Missing(name: rawValue, package: package) }
            return executable
        }
    }

    /// The folder in which scripts/install keeps notes and programs that are not packaged.
    fileprivate static let cache =
        (ProcessInfo.processInfo.environment["HOME"] ?? NSHomeDirectory()) + "/.cache/swift-url-loading"

    /// The packages that this release does not contain, according to scripts/install.
    package static let unpackaged: Set<String> = {
        let text = try? String(contentsOfFile: cache + "/unpackaged", encoding: .utf8)
        return Set((text ?? "").split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") })
    }()

    /// A program or library that is not installed.
    package struct Missing: Error, Equatable, CustomStringConvertible {
        let name: String
        let package: String?

        package init(name: String, package: String?) {
            self.name = name
            self.package = package
        }

        package var description: String {
            isUnpackaged(in: ServerFarm.unpackaged)
                ? "\(name) is not installed, and this release has no package for it"
                : "\(name) is not installed; scripts/install test installs it"
        }

        private func isUnpackaged(in unpackaged: Set<String>) -> Bool { package.map(unpackaged.contains) ?? false }

        /// Throws if the variable `CI` requires all tests to run, unless the release does not contain the package.
        package func allowSkipping() throws(Missing) {
            try allowSkipping(
                whereAllIsNeeded: ProcessInfo.processInfo.environment["CI"] == "true", unpackaged: ServerFarm.unpackaged
            )
        }

        /// Throws if the variable `CI` requires all tests to run and the dependency can be installed.
        package func allowSkipping(whereAllIsNeeded: Bool, unpackaged: Set<String>) throws(Missing) {
            if whereAllIsNeeded, !isUnpackaged(in: unpackaged) { throw self }
        }
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if the program is missing. If the variable `CI` requires all tests to run, it fails instead,
    /// unless the release does not contain the package.
    package static func needs(_ part: ServerFarm.Part) -> Self {
        needs(part.rawValue, of: part.package, part.isInstalled)
    }

    /// The same for a library that is loaded at run time.
    package static func needs(
        _ name: String, of package: String? = nil, _ isInstalled: @autoclosure @escaping @Sendable () -> Bool
    ) -> Self {
        let missing = ServerFarm.Missing(name: name, package: package)
        return .enabled("\(missing.description)") {
            if isInstalled() { return true }
            try missing.allowSkipping()
            return false
        }
    }
}
