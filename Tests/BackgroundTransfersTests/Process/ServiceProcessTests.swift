import BackgroundTransfers
import Foundation
import Glibc
import LoadingStorage
import TestSupport
import Testing

/// The service as a process: its start, its end, and its access rules.
@Suite(.leakChecked, .serialized) struct ServiceProcessTests {
    // BG-5
    @Test("the first program starts it, others find it") func start() async throws {
        let scene = try ServiceScene()
        let service = try scene.once()
        #expect(try scene.once() == service)
        #expect(try String(contentsOfFile: "/proc/\(service)/comm", encoding: .utf8) == "urlsessiond\n")
        #expect(try String(contentsOfFile: "/proc/\(service)/cmdline", encoding: .utf8).hasPrefix("urlsessiond\0"))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(service)/cwd") == "/")
        kill(service, SIGTERM)
        try await ServiceScene.waitForEnd(of: service)
        #expect(!scene.exists(scene.place.socketPath))
    }

    // BG-5
    @Test("twenty programs at once start one") func race() async throws {
        let scene = try ServiceScene()
        let found = try scene.run(20, ["once"])
        #expect(found.count == 20)
        #expect(found.allSatisfy { $0.hasPrefix("service ") })
        #expect(Set(found).count == 1)
    }

    // BG-5: it outlives its starter, whatever kills it
    @Test("the death of its starter's session does not concern it") func killedStarter() async throws {
        let scene = try ServiceScene()
        let (starter, service) = try scene.hold()
        #expect(getsid(service) != getsid(starter.processID))
        #expect(getpgid(service) != getpgid(starter.processID))
        starter.endAbruptly()
        #expect(try scene.once() == service)
    }

    // BG-5
    @Test("it has no descriptor and no variable of its starter") func inheritance() async throws {
        let scene = try ServiceScene()
        let secret = try scene.directory.write("secret", to: "secret")
        let descriptor = open(secret.path, O_RDONLY)
        defer { close(descriptor) }
        let output = scene.directory.file("output")
        var environment = scene.environment()
        environment["SECRET_TOKEN"] = "x"
        environment["http_proxy"] = "http://proxy.test"
        let starter = try ChildProcess(
            ServiceScene.program, ["once"], environment: environment, inheriting: [57: descriptor], output: output)
        #expect(try starter.waitForExit() == .code(0))
        starter.end()
        let service = try scene.once()
        let folder = "/proc/\(service)/fd"
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).reduce(into: [String: String]()) {
            $0[$1] = try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + $1)
        }
        for number in ["0", "1", "2"] { #expect(files[number] == "/dev/null") }
        let known = ["/dev/null", "socket:", "anon_inode:", "pipe:", scene.directory.path + "/state/"]
        for (number, file) in files {
            #expect(known.contains { file.hasPrefix($0) }, "\(number) is \(file)")
            #expect(file != secret.path)
        }
        let variables = try String(contentsOfFile: "/proc/\(service)/environ", encoding: .utf8).split(separator: "\0")
        #expect(variables.contains("http_proxy=http://proxy.test"))
        #expect(!variables.contains { $0.hasPrefix("SECRET_TOKEN") })
    }

    // BG-5: an update of the program replaces the executable while it runs
    @Test("a program whose executable was removed starts it") func removedExecutable() async throws {
        let scene = try ServiceScene()
        let copy = scene.directory.path + "/program"
        try FileManager.default.copyItem(atPath: ServiceScene.program, toPath: copy)
        let output = scene.directory.file("output")
        let starter = try ChildProcess(copy, ["orphan"], environment: scene.environment(), output: output)
        defer { starter.end() }
        let link = "/proc/\(starter.processID)/exe"
        try await eventually { (try? FileManager.default.destinationOfSymbolicLink(atPath: link)) == copy }
        try FileManager.default.removeItem(atPath: copy)
        #expect(try starter.waitForExit() == .code(0))
        let lines = try String(contentsOf: output, encoding: .utf8).split(separator: "\n").map(String.init)
        let service = try #require(ServiceScene.service(in: lines))
        #expect(try scene.once() == service)
    }

    // BG-5
    @Test("a killed service is replaced, and so is its socket") func killedService() async throws {
        let scene = try ServiceScene()
        let first = try scene.once()
        kill(first, SIGKILL)
        try await ServiceScene.waitForEnd(of: first)
        #expect(scene.exists(scene.place.socketPath))
        #expect(try scene.once() != first)
    }

    // BG-5
    @Test("it ends when it is idle") func idle() async throws {
        let scene = try ServiceScene(idle: 0.05)
        let first = try scene.once()
        try await ServiceScene.waitForEnd(of: first)
        #expect(!scene.exists(scene.place.socketPath))
        let (program, second) = try scene.hold()
        #expect(second != first)
        try await Task.sleep(for: .milliseconds(300))
        #expect(ServiceScene.isRunning(second))
        program.end()
        try await ServiceScene.waitForEnd(of: second)
    }

    // BG-5: as when a login ends, whose runtime folder goes with it
    @Test("it ends when it is idle and its socket's folder is gone") func idleWithoutFolder() async throws {
        let scene = try ServiceScene(idle: 0.05)
        let (program, service) = try scene.hold()
        try FileManager.default.removeItem(
            atPath: URL(fileURLWithPath: scene.place.socketPath).deletingLastPathComponent().path)
        #expect(ServiceScene.isRunning(service))
        program.end()
        try await ServiceScene.waitForEnd(of: service)
    }

    // BG-5: a program that connects while the service ends gets a reply, from this one or the next
    @Test("connecting while it ends") func idleRace() async throws {
        let scene = try ServiceScene(idle: 0)
        var services: Set<String> = []
        // Until there were several: on a busy machine one service may see no moment without a program.
        for _ in 0..<20 where services.count < 2 {
            let results = try scene.run(3, ["many", "60"])
            #expect(results.count == 180)
            #expect(results.allSatisfy { $0.hasPrefix("service ") }, "\(results.filter { !$0.hasPrefix("service ") })")
            services.formUnion(results)
        }
        #expect(services.count > 1)
    }

    // BG-5
    @Test("a second service of a place ends at once") func second() async throws {
        let scene = try ServiceScene()
        let service = try scene.once()
        let (exit, _) = try ChildProcess.run(ServiceScene.program, ["serve"], environment: scene.environment())
        #expect(exit == .code(75))
        #expect(try scene.once() == service)
    }

    // BG-5: cron has no XDG_RUNTIME_DIR
    @Test("a program with another runtime folder finds the same one") func otherRuntime() async throws {
        let scene = try ServiceScene()
        let service = try scene.once()
        #expect(try scene.once(runtime: scene.directory.path + "/other") == service)
    }

    // BG-5: the runtime folder goes with the last login
    @Test("one that cannot be reached any more is replaced") func unreachable() async throws {
        let scene = try ServiceScene()
        let first = try scene.once()
        try FileManager.default.removeItem(atPath: scene.runtime)
        let second = try scene.once()
        #expect(second != first)
        try await ServiceScene.waitForEnd(of: first)
        #expect(try scene.once() == second)
    }

    // BG-5: a UNIX address has room for 107 bytes
    @Test("a long path") func longPath() async throws {
        let scene = try ServiceScene()
        let runtime = scene.directory.path + "/" + String(repeating: "long-folder-name/", count: 12) + "end"
        let service = try scene.once(runtime: runtime)
        #expect(scene.exists(runtime + "/urlsessiond.socket"))
        #expect(try scene.once(runtime: runtime) == service)
        kill(service, SIGTERM)
        try await ServiceScene.waitForEnd(of: service)
        #expect(!scene.exists(runtime + "/urlsessiond.socket"))
    }

    // BG-5
    @Test("a program that cannot be started is an error, and leaves no socket") func missingProgram() async throws {
        let scene = try ServiceScene()
        #expect(throws: ServiceStartFailure.program("/nonexistent", ENOENT)) {
            try ServiceStart.connect(to: scene.place, starting: .installed("/nonexistent"))
        }
        #expect(!scene.exists(scene.place.socketPath))
        let service = try scene.once()
        #expect(ServiceScene.isRunning(service))
    }

    // BG-5
    @Test(
        "systemd owns the socket",
        .enabled(if: access("/usr/bin/systemd-socket-activate", X_OK) == 0, "systemd-socket-activate is not installed"))
    func systemd() async throws {
        let scene = try ServiceScene(idle: 0.05)
        try scene.place.make()
        let environment = scene.environment()
        let activator = try ChildProcess(
            "/usr/bin/systemd-socket-activate",
            ["-l", scene.place.socketPath, "--fdname=urlsessiond"] + environment.map { "-E\($0)=\($1)" }
                + [ServiceScene.program, "serve"])
        defer { activator.end() }
        try await eventually { scene.exists(scene.place.socketPath) }
        // The activator becomes the service.
        #expect(try scene.once() == activator.processID)
        #expect(try activator.waitForExit() == .code(0))
        #expect(scene.exists(scene.place.socketPath))
    }

    // BG-5
    @Test("another user is refused", .enabled(if: geteuid() == 0, "needs root")) func foreignUser() async throws {
        let scene = try ServiceScene()
        let service = try scene.once()
        let program = scene.directory.path + "/program"
        try FileManager.default.copyItem(atPath: ServiceScene.program, toPath: program)
        for (path, mode) in [(program, 0o755), (scene.directory.path, 0o711)] {
            #expect(chmod(path, mode_t(mode)) == 0)
        }
        func knock() throws -> [String] {
            let (_, output) = try ChildProcess.run(
                "/usr/sbin/runuser", ["-u", "nobody", "--", program, "knock", scene.place.socketPath])
            return output.split(separator: "\n").map(String.init)
        }
        #expect(try knock() == ["connect: \(EACCES)"])
        // Even where the folder would let it in.
        #expect(chmod(scene.runtime, 0o755) == 0 && chmod(scene.place.socketPath, 0o666) == 0)
        #expect(try knock() == ["closed"])
        #expect(try scene.once() == service)
        // A socket of another user is not used.
        let other = try ServiceScene()
        try other.place.make()
        let listener = try ChildProcess(
            "/usr/bin/python3",
            [
                "-c",
                """
                import os, socket, time
                # Under its name when it listens: one that does not is replaced.
                path = '\(other.place.socketPath)'
                listener = socket.socket(socket.AF_UNIX); os.setresuid(65534, 65534, 0)
                os.seteuid(0); listener.bind(path + '.new')
                os.seteuid(65534); listener.listen()
                os.seteuid(0); os.rename(path + '.new', path); time.sleep(60)
                """,
            ])
        defer { listener.end() }
        try await eventually { other.exists(other.place.socketPath) }
        try await eventually {
            do {
                close(try ServiceStart.connect(to: other.place, starting: .installed("/nonexistent")))
                return false
            } catch {
                return error as? ServiceStartFailure == .foreign(other.place.socketPath)
            }
        }
    }
}
