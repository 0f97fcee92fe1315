internal import Foundation
internal import Glibc

/// Avahi on a network namespace of its own with loopback only, and on a message bus of its own. Both end with this
/// object.
///
/// Avahi has fixed paths in /run, so it gets a mount namespace with an empty one. That takes root, or user namespaces.
package final class AvahiNetwork: Sendable {
    package struct StartFailure: Error, CustomStringConvertible {
        package let description: String
    }

    private struct Processes {
        var bus: ChildProcess?
        var avahi: ChildProcess?
    }

    private let directory: TemporaryDirectory
    private let processes = Watched(Processes())

    /// The name of the host, in `local`.
    package static let host = "avahi-test"

    /// The address of the bus.
    package var busAddress: String { "unix:path=\(directory.path)/bus" }
    package var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": busAddress] }

    /// Whether processes may have the namespaces that it needs.
    package static let isAvailable: Bool =
        (try? ChildProcess.run(
            "/usr/bin/unshare", namespaces + ["/bin/sh", "-c", "mount -t tmpfs none /run && ip link set lo up"]))?
        .exit == .code(0)

    private static var namespaces: [String] {
        (geteuid() == 0 ? [] : ["--user", "--map-root-user"]) + ["--mount", "--net"]
    }

    /// Starts both. Returns when they answer.
    package init(startsDaemon: Bool = true) throws {
        directory = try TemporaryDirectory()
        try directory.write(Self.busConfiguration(directory.path), to: "bus.conf")
        try directory.write(Self.avahiConfiguration, to: "avahi.conf")
        try startBus()
        if startsDaemon { try startAvahi() }
    }

    deinit { stop() }

    package func stop() {
        endAvahi()
        endBus()
    }

    package func startBus() throws {
        let bus = try ChildProcess(
            ServerFarm.Part.dbusDaemon.requireExecutable(),
            ["--nofork", "--nopidfile", "--config-file=\(directory.file("bus.conf").path)"],
            output: directory.file("bus.output"))
        processes.withValue { $0.bus = bus }
        try wait(for: bus, "bus.output") { try self.ask("GetId", of: "org.freedesktop.DBus", "/org/freedesktop/DBus") }
    }

    package func endBus() {
        let bus = processes.withValue { processes in
            defer { processes.bus = nil }
            return processes.bus
        }
        bus?.end()
    }

    package func startAvahi() throws {
        let daemon = try ServerFarm.Part.avahi.requireExecutable()
        let commands = [
            "mount -t tmpfs none /run", "mkdir /run/avahi-daemon", "ip link set lo up multicast on",
            """
            exec \(daemon) --file=\(directory.file("avahi.conf").path) --no-drop-root --no-chroot --no-rlimits \
            --no-proc-title
            """,
        ]
        let avahi = try ChildProcess(
            "/usr/bin/unshare", Self.namespaces + ["/bin/sh", "-c", commands.joined(separator: " && ")],
            environment: environment, output: directory.file("output"))
        processes.withValue { $0.avahi = avahi }
        try wait(for: avahi, "output") {
            // Running, which is state 2: its names are registered.
            try self.ask("GetState", of: "org.freedesktop.Avahi.Server", "/", "org.freedesktop.Avahi")
                .flatMap { $0.contains("int32 2") ? $0 : nil }
        }
    }

    package func endAvahi() {
        let avahi = processes.withValue { processes in
            defer { processes.avahi = nil }
            return processes.avahi
        }
        avahi?.send(SIGCONT)
        avahi?.end()
    }

    /// Stops the process, so that it does not answer.
    package func freezeAvahi() { processes.current.avahi?.send(SIGSTOP) }

    /// Publishes a service with Avahi's own program, until the process ends.
    package func publish(
        _ name: String, _ type: String, port: Int, _ text: [String] = [], subtypes: [String] = []
    ) throws -> ChildProcess {
        try ChildProcess(
            ServerFarm.Part.avahiPublish.requireExecutable(),
            ["--service"] + subtypes.map { "--subtype=\($0)" } + [name, type, "\(port)"] + text,
            environment: environment, output: directory.file("publish.output"))
    }

    /// What Avahi's own program resolves of this type: the fields of each line, without those of interfaces.
    package func browse(_ type: String) throws -> [String] {
        let answer = try ChildProcess.run(
            ServerFarm.Part.avahiBrowse.requireExecutable(), ["--resolve", "--parsable", "--terminate", type],
            environment: environment)
        return answer.output.split(separator: "\n").filter { $0.hasPrefix("=;lo;IPv4;") }
            .map { String($0.dropFirst("=;lo;IPv4;".count)) }
    }

    /// Nil without a reply, or for an error.
    private func ask(
        _ method: String, of interface: String, _ path: String, _ name: String = "org.freedesktop.DBus"
    ) throws -> String? {
        let answer = try ChildProcess.run(
            ServerFarm.Part.dbusSend.requireExecutable(),
            ["--system", "--print-reply", "--dest=\(name)", path, "\(interface).\(method)"], environment: environment)
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

    private static func busConfiguration(_ directory: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>unix:path=\(directory)/bus</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow send_destination="*"/>
            <allow receive_sender="*"/>
            <allow own="*"/>
          </policy>
        </busconfig>

        """
    }

    private static let avahiConfiguration = """
        [server]
        host-name=\(host)
        allow-interfaces=lo
        [wide-area]
        enable-wide-area=no
        [publish]
        publish-hinfo=no
        publish-workstation=no
        [rlimits]

        """
}
