import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing

@testable import BackgroundTransfers

/// Real programs are launched (BG-11).
@Suite(.leakChecked) struct ProgramLauncherTests {
    private func launch(
        _ method: LaunchMethod, bus: String? = nil, until last: Int = 1
    ) async throws -> [ProgramLauncher.Event] {
        let stepped = try SteppedLoop()
        let events = EventRecorder<ProgramLauncher.Event>()
        let loop = stepped.loop
        try await stepped.run {
            let launcher = ProgramLauncher(on: loop) { $0 == "DBUS_SESSION_BUS_ADDRESS" ? bus : nil }
            launcher.launch(method, identifier: "my downloads") { events.record($0) }
        }
        let seen = try await events.waitFor(count: last)
        try await stepped.settle()
        return seen
    }

    // BG-11
    @Test("a command gets the identifier, a session of its own, and none of the service's descriptors")
    func command() async throws {
        let directory = try TemporaryDirectory()
        let open = open("/dev/null", O_RDONLY)
        defer { close(open) }
        let script = """
            echo "$URLSESSION_BACKGROUND_IDENTIFIER" "$1"; set -- $(cat /proc/$$/stat); echo $(($1 == $6)); \
            for fd in /proc/$$/fd/*; do echo "${fd##*/}"; done; exec grep -E '^Sig(Blk|Ign)' /proc/self/status
            """
        let file = directory.file("seen").path
        let events = try await launch(
            .command(["/bin/sh", "-c", "exec >'\(file)' 2>&1 0</dev/null; \(script)", "name", "an argument"]), until: 2)
        #expect(events == [.started, .ended])
        let seen = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(Array(seen.prefix(5)) == ["my downloads an argument", "1", "0", "1", "2"])
        // The shell may have duplicates of its own, from 10 on.
        #expect(!seen.contains("\(open)"))
        #expect(seen.contains("SigBlk:\t0000000000000000"))
        // The C library ignores signals 32 and 33, its own, in what it starts.
        #expect(seen.contains("SigIgn:\t0000000000000000") || seen.contains("SigIgn:\t0000000180000000"), "\(seen)")
    }

    // BG-11
    @Test("a program that is missing, or none, is an error") func errors() async throws {
        #expect(
            try await launch(.command(["/nowhere/program"]))
                == [.failed(.program(path: "/nowhere/program", ENOENT))])
        #expect(try await launch(.command(["/etc/passwd"])) == [.failed(.program(path: "/etc/passwd", EACCES))])
        for words in [[], ["relative"], ["/bin/true", "a\0b"]] {
            #expect(try await launch(.command(words)) == [.failed(.invalidMethod)])
        }
        #expect(try await launch(.busName("")) == [.failed(.invalidMethod)])
        #expect(
            try await launch(.busName("org.example.Backup"))
                == [.failed(.noBus("There is no session bus on which a program could be launched."))])
    }

    // BG-11
    @Test("the bus starts the program of a name", .needs(.dbusDaemon), .needs(.dbusSend), .needs(.dbusmock))
    func busName() async throws {
        let bus = try MessageBus(activatable: "org.example.Backup")
        defer { bus.stop() }
        #expect(try !bus.hasOwner("org.example.Backup"))
        for _ in 1...2 {
            #expect(try await launch(.busName("org.example.Backup"), bus: bus.address, until: 2) == [.started, .ended])
            #expect(try bus.hasOwner("org.example.Backup"))
        }
        #expect(
            try await launch(.busName("org.example.Missing"), bus: bus.address)
                == [.failed(.refused("org.freedesktop.DBus.Error.ServiceUnknown"))])
        #expect(
            try await launch(.systemdUnit("backup.service"), bus: bus.address)
                == [.failed(.refused("org.freedesktop.DBus.Error.ServiceUnknown"))])
    }

    // BG-11
    @Test("systemd starts a unit", .needs(.dbusDaemon), .needs(.dbusSend), .needs(.dbusmock)) func unit() async throws {
        let directory = try TemporaryDirectory()
        let bus = try MessageBus()
        defer { bus.stop() }
        try bus.startSystemd(noting: directory.file("seen").path)
        #expect(try await launch(.systemdUnit("backup.service"), bus: bus.address, until: 2) == [.started, .ended])
        #expect(try String(contentsOf: directory.file("seen"), encoding: .utf8) == "backup.service replace")
    }

    // BG-11: as systemd-escape does it
    @Test(
        "the instance of a template unit is the identifier",
        arguments: [
            ("photos", "backup@photos.service"), ("my downloads", "backup@my\\x20downloads.service"),
            ("com.example/a-b", "backup@com.example-a\\x2db.service"), (".x", "backup@\\x2ex.service"),
            ("ä\n", "backup@\\xc3\\xa4\\x0a.service"), ("", "backup@.service"),
        ])
    func template(identifier: String, unit: String) {
        #expect(ProgramLauncher.unit("backup@.service", identifier) == unit)
        #expect(ProgramLauncher.unit("backup.service", identifier) == "backup.service")
        #expect(ProgramLauncher.unit("backup@x.service", identifier) == "backup@x.service")
    }

    // BG-11
    @Test("a bus that does not answer is an error, and holds nothing up") func silentBus() async throws {
        let bus = try ScriptedBus { call in call.member == "StartServiceByName" ? [] : nil }
        defer { bus.stop() }
        let stepped = try SteppedLoop()
        let events = EventRecorder<ProgramLauncher.Event>()
        let (loop, address) = (stepped.loop, bus.address)
        try await stepped.run {
            ProgramLauncher(on: loop) { $0 == "DBUS_SESSION_BUS_ADDRESS" ? address : nil }
                .launch(.busName("org.example.Backup"), identifier: "") { events.record($0) }
        }
        try bus.waitForCall(of: "StartServiceByName")
        try await stepped.step(by: stepped.limits.busReply)
        #expect(events.events == [.failed(.noReply)])
        try bus.waitForEnd()
    }
}
