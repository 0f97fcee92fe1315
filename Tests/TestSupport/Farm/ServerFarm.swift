internal import Foundation
package import Testing

/// The real programs that tests run against. A test names what it needs, and is skipped by that name without it:
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
        case gnomeKeyring = "gnome-keyring-daemon"

        /// Where the program is; servers live outside of an ordinary user's search path.
        package var executable: String? {
            if self == .aioquic { return access(Self.aioquicPython, X_OK) == 0 ? Self.aioquicPython : nil }
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            return (path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/local/sbin", "/usr/bin"])
                .map { "\($0)/\(rawValue)" }
                .first { access($0, X_OK) == 0 }
        }

        /// Where scripts/install puts it.
        private static let aioquicPython = ServerFarm.cache + "/aioquic/bin/python"

        /// The Debian package that has it; nil where it comes another way.
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
            case .node: "nodejs"
            case .caddy, .squid, .microsocks, .curl, .openssl, .apache2, .vsftpd, .haproxy, .gunicorn, .h2o, .lighttpd:
                rawValue
            }
        }

        package var isInstalled: Bool { executable != nil }
        /// The program itself, where it is absent.
        package var missing: Missing? { isInstalled ? nil : Missing(name: rawValue, package: package) }
        package var description: String { rawValue }

        func requireExecutable() throws -> String {
            guard let executable else { throw Missing(name: rawValue, package: package) }
            return executable
        }
    }

    /// Where scripts/install puts what it notes and what is no package.
    fileprivate static let cache =
        (ProcessInfo.processInfo.environment["HOME"] ?? NSHomeDirectory()) + "/.cache/swift-url-loading"

    /// The packages that scripts/install has found this release not to have.
    package static let unpackaged: Set<String> = {
        let text = try? String(contentsOfFile: cache + "/unpackaged", encoding: .utf8)
        return Set((text ?? "").split(separator: "\n").map(String.init).filter { !$0.hasPrefix("#") })
    }()

    /// A program or a library that is not on this machine.
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

        /// Throws where everything that can be tested has to be, as the variable `CI` says, unless the release has no such
        /// package.
        package func allowSkipping() throws(Missing) {
            try allowSkipping(
                whereAllIsNeeded: ProcessInfo.processInfo.environment["CI"] == "true", unpackaged: ServerFarm.unpackaged
            )
        }

        /// Throws where everything that can be tested has to be, and this can: nobody can install what is no package.
        package func allowSkipping(whereAllIsNeeded: Bool, unpackaged: Set<String>) throws(Missing) {
            if whereAllIsNeeded, !isUnpackaged(in: unpackaged) { throw self }
        }
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test, by name, where the program is absent. Where all that is tested has to be, as the variable `CI` says, it
    /// fails instead, unless the release has no such package.
    package static func needs(_ part: ServerFarm.Part) -> Self {
        needs(part.rawValue, of: part.package, part.isInstalled)
    }

    /// The same for a library that is looked for when it is needed.
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
