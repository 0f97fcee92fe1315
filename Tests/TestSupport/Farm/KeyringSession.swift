package import Foundation
internal import Glibc

/// A D-Bus session with gnome-keyring, with its own folders. It cannot prompt for passwords.
package final class KeyringSession: Sendable {
    package static let password = "open sesame"

    package struct StartFailure: Error, CustomStringConvertible {
        package let description: String
    }

    private struct Processes {
        var bus: ChildProcess?
        var keyring: ChildProcess?
    }

    private let directory: TemporaryDirectory
    private let processes = Watched(Processes())

    /// The environment of programs in the session.
    package let environment: [String: String]

    /// Starts both. Returns when they answer. The keyring is unlocked.
    package init() throws {
        directory = try TemporaryDirectory()
        for folder in ["home", "data", "config", "run"] {
            try FileManager.default.createDirectory(
                at: directory.file(folder), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        environment = [
            "DBUS_SESSION_BUS_ADDRESS": "unix:path=\(directory.path)/run/bus", "HOME": directory.path + "/home",
            "XDG_DATA_HOME": directory.path + "/data", "XDG_CONFIG_HOME": directory.path + "/config",
            "XDG_RUNTIME_DIR": directory.path + "/run", "DISPLAY": "", "WAYLAND_DISPLAY": "",
        ]
        try directory.write(Self.configuration(directory.path), to: "bus.conf")
        try directory.write(Self.password, to: "password")
        try startBus()
        try startKeyring()
    }

    deinit { stop() }

    package func stop() {
        endKeyring()
        endBus()
    }

    // MARK: The bus

    package func startBus() throws {
        let bus = try ChildProcess(
            ServerFarm.Part.dbusDaemon.requireExecutable(),
            ["--nofork", "--nopidfile", "--config-file=\(directory.file("bus.conf").path)"], environment: environment,
            output: directory.file("bus.output"))
        processes.withValue { $0.bus = bus }
        try wait(for: bus, "bus.output") { try self.send("org.freedesktop.DBus.GetId", to: "org.freedesktop.DBus") }
    }

    package func endBus() {
        let bus = processes.withValue { processes in
            defer { processes.bus = nil }
            return processes.bus
        }
        bus?.send(SIGKILL)
        bus?.end()
    }

    // MARK: The keyring

    /// - Parameter isLocked: Whether it starts locked; it cannot be unlocked later.
    package func startKeyring(isLocked: Bool = false) throws {
        let password = open(directory.file("password").path, O_RDONLY | O_CLOEXEC)
        guard password >= 0 else { throw POSIXFailure("open the password") }
        defer { close(password) }
        let keyring = try ChildProcess(
            ServerFarm.Part.gnomeKeyring.requireExecutable(),
            ["--foreground", "--components=secrets", "--control-directory=\(directory.path)/run/keyring"]
                + (isLocked ? [] : ["--unlock"]),
            environment: environment, inheriting: isLocked ? [:] : [0: password], output: directory.file("output"))
        processes.withValue { $0.keyring = keyring }
        try wait(for: keyring, "output") {
            try self.send(
                "org.freedesktop.Secret.Service.ReadAlias", "string:default", to: "org.freedesktop.secrets",
                "/org/freedesktop/secrets")
        }
    }

    package func endKeyring() {
        let keyring = processes.withValue { processes in
            defer { processes.keyring = nil }
            return processes.keyring
        }
        keyring?.send(SIGCONT)
        keyring?.end()
    }

    /// Locks the keyring.
    package func lock() throws {
        let answer = try send(
            "org.freedesktop.Secret.Service.Lock", "array:objpath:/org/freedesktop/secrets/collection/login",
            to: "org.freedesktop.secrets", "/org/freedesktop/secrets")
        guard let answer else { throw StartFailure(description: "the keyring cannot be locked") }
        _ = answer
    }

    /// Stops the process, so that it does not answer.
    package func freezeKeyring() { processes.current.keyring?.send(SIGSTOP) }

    package func thawKeyring() { processes.current.keyring?.send(SIGCONT) }

    /// The bytes of all files of the keyring.
    package func storedBytes() -> Data {
        let files = FileManager.default.enumerator(at: directory.file("data"), includingPropertiesForKeys: nil)
        return (files?.compactMap { ($0 as? URL).flatMap { try? Data(contentsOf: $0) } } ?? []).reduce(Data(), +)
    }

    /// The labels and attributes of a program's items, which are readable without a password.
    package func descriptions(application: String) throws -> String {
        let found = try send(
            "org.freedesktop.Secret.Service.SearchItems", "dict:string:string:application,\(application)",
            to: "org.freedesktop.secrets", "/org/freedesktop/secrets")
        let paths = (found ?? "").split(separator: "\"").filter { $0.hasPrefix("/org/") }
        return try paths.map { path in
            try send(
                "org.freedesktop.DBus.Properties.GetAll", "string:org.freedesktop.Secret.Item",
                to: "org.freedesktop.secrets", String(path)) ?? ""
        }.joined()
    }

    // MARK: D-Bus calls

    /// Nil without a reply, or for an error.
    private func send(
        _ method: String, _ arguments: String..., to name: String, _ path: String = "/org/freedesktop/DBus"
    ) throws -> String? {
        let answer = try ChildProcess.run(
            ServerFarm.Part.dbusSend.requireExecutable(),
            ["--session", "--print-reply", "--dest=\(name)", path, method] + arguments, environment: environment)
        return answer.exit == .code(0) ? answer.output : nil
    }

    private func wait(for process: ChildProcess, _ output: String, _ answer: () throws -> String?) throws {
        let deadline = ContinuousClock.now + .testDeadline
        while try answer() == nil {
            let words = { (try? String(contentsOf: self.directory.file(output), encoding: .utf8)) ?? "" }
            if let exit = process.exit { throw StartFailure(description: "\(exit); it says: \(words())") }
            if ContinuousClock.now > deadline { throw StartFailure(description: "no answer; it says: \(words())") }
            usleep(10_000)
        }
    }

    private static func configuration(_ directory: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>unix:path=\(directory)/run/bus</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow send_destination="*"/>
            <allow receive_sender="*"/>
            <allow own="*"/>
          </policy>
        </busconfig>

        """
    }
}
