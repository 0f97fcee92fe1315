internal import Foundation
internal import Glibc

/// A private message bus, with stand-ins for UPower, NetworkManager and systemd (python-dbusmock). All end with this
/// object.
package final class MessageBus: Sendable {
    package struct StartFailure: Error, CustomStringConvertible {
        package let description: String
    }

    private let directory: TemporaryDirectory
    private let processes = Watched<[String: ChildProcess]>([:])

    package var address: String { "unix:path=\(directory.path)/bus" }
    private var environment: [String: String] {
        ["DBUS_SYSTEM_BUS_ADDRESS": address, "DBUS_SESSION_BUS_ADDRESS": address]
    }

    package static let upower = "org.freedesktop.UPower"
    package static let networkManager = "org.freedesktop.NetworkManager"

    /// Starts the bus. Returns when it answers.
    ///
    /// - Parameter activatable: A name for which the bus starts a program that takes it.
    package init(activatable: String? = nil) throws {
        directory = try TemporaryDirectory()
        try directory.write(Self.configuration(directory.path), to: "bus.conf")
        if let name = activatable {
            let program = "/usr/bin/python3 -m dbusmock --session \(name) / \(name)"
            try directory.write("[D-BUS Service]\nName=\(name)\nExec=\(program)\n", to: "services/\(name).service")
        }
        let bus = try ChildProcess(
            ServerFarm.Part.dbusDaemon.requireExecutable(),
            ["--nofork", "--nopidfile", "--config-file=\(directory.file("bus.conf").path)"], environment: environment,
            output: directory.file("bus.output"))
        processes.withValue { $0["bus"] = bus }
        try wait(for: bus, "bus.output") { try self.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "GetId") }
    }

    deinit { stop() }

    package func stop() {
        let all = processes.withValue { processes in
            defer { processes = [:] }
            return processes
        }
        for process in all.values { process.end() }
    }

    // MARK: Stand-ins

    package func startUPower(onBattery: Bool) throws {
        try mock(Self.upower, ["--template", "upower", "--parameters", "{\"OnBattery\": \(onBattery)}"])
    }

    /// - Parameter metered: A value of `NMMetered`.
    package func startNetworkManager(metered: UInt32) throws {
        try mock(Self.networkManager, ["--template", "networkmanager"])
        try callMock(
            Self.networkManager, "/org/freedesktop/NetworkManager", "AddProperty", "string:\(Self.networkManager)",
            "string:Metered", "variant:uint32:\(metered)")
    }

    /// Starts a systemd whose only method notes the unit that it shall start.
    package func startSystemd(noting file: String) throws {
        let name = "org.freedesktop.systemd1"
        try mock(name, [name, "/org/freedesktop/systemd1", "\(name).Manager"])
        try callMock(
            name, "/org/freedesktop/systemd1", "AddMethod", "string:\(name).Manager", "string:StartUnit", "string:ss",
            "string:o", "string:open('\(file)', 'w').write(' '.join(args)); ret = dbus.ObjectPath('/job/1')")
    }

    package func setOnBattery(_ value: Bool) throws {
        try set(Self.upower, "/org/freedesktop/UPower", "OnBattery", "variant:boolean:\(value)")
    }

    package func setMetered(_ value: UInt32) throws {
        try set(Self.networkManager, "/org/freedesktop/NetworkManager", "Metered", "variant:uint32:\(value)")
    }

    package func end(_ name: String) { processes.withValue { $0.removeValue(forKey: name) }?.end() }

    /// Whether a program has the name.
    package func hasOwner(_ name: String) throws -> Bool {
        try call("org.freedesktop.DBus", "/org/freedesktop/DBus", "NameHasOwner", "string:\(name)")?
            .contains("boolean true") ?? false
    }

    // MARK: Calls

    private func mock(_ name: String, _ arguments: [String]) throws {
        let mock = try ChildProcess(
            ServerFarm.Part.dbusmock.requireExecutable(), ["-m", "dbusmock", "--session"] + arguments,
            environment: environment, output: directory.file("\(name).output"))
        processes.withValue { $0[name] = mock }
        try wait(for: mock, "\(name).output") { try self.hasOwner(name) ? "" : nil }
    }

    private func set(_ name: String, _ path: String, _ property: String, _ value: String) throws {
        try require(
            try call(
                "org.freedesktop.DBus.Properties", path, "Set", "string:\(name)", "string:\(property)", value, to: name)
        )
    }

    private func callMock(_ name: String, _ path: String, _ method: String, _ arguments: String...) throws {
        try require(try call("org.freedesktop.DBus.Mock", path, method, arguments, to: name))
    }

    private func require(_ answer: String?) throws {
        if answer == nil { throw StartFailure(description: "a stand-in refuses a call") }
    }

    private func call(
        _ interface: String, _ path: String, _ method: String, _ arguments: String..., to name: String? = nil
    ) throws -> String? {
        try call(interface, path, method, arguments, to: name)
    }

    /// Nil without a reply, or for an error.
    private func call(
        _ interface: String, _ path: String, _ method: String, _ arguments: [String], to name: String?
    ) throws -> String? {
        let answer = try ChildProcess.run(
            ServerFarm.Part.dbusSend.requireExecutable(),
            ["--session", "--print-reply", "--dest=\(name ?? interface)", path, "\(interface).\(method)"] + arguments,
            environment: environment)
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
          <listen>unix:path=\(directory)/bus</listen>
          <servicedir>\(directory)/services</servicedir>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow receive_sender="*"/>
            <allow own="*"/>
          </policy>
        </busconfig>

        """
    }
}
