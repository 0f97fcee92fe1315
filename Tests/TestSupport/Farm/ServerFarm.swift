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
        private static let aioquicPython =
            (ProcessInfo.processInfo.environment["HOME"] ?? NSHomeDirectory())
            + "/.cache/swift-url-loading/aioquic/bin/python"

        package var isInstalled: Bool { executable != nil }
        package var description: String { rawValue }

        func requireExecutable() throws -> String {
            guard let executable else { throw Missing(name: rawValue) }
            return executable
        }
    }

    /// A program or a library that is not on this machine.
    package struct Missing: Error, CustomStringConvertible {
        let name: String

        package var description: String { "\(name) is not installed; scripts/install test installs it" }
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test, by name, where the program is absent. Where all that is tested has to be, as the variable `CI` says, it
    /// fails instead.
    package static func needs(_ part: ServerFarm.Part) -> Self { needs(part.rawValue, part.isInstalled) }

    /// The same for a library that is looked for when it is needed.
    package static func needs(_ name: String, _ isInstalled: @autoclosure @escaping @Sendable () -> Bool) -> Self {
        let missing = ServerFarm.Missing(name: name)
        return .enabled("\(missing.description)") {
            if isInstalled() { return true }
            if ProcessInfo.processInfo.environment["CI"] == "true" { throw missing }
            return false
        }
    }
}
