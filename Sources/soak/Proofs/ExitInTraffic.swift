import Foundation
import Glibc

/// `exit(0)` while tasks run neither crashes nor hangs, without invalidating sessions first.
enum ExitInTraffic {
    private static let tasks = 200

    static func run(_ options: Options) throws -> Bool {
        say("Exit in traffic: \(options.times) times, seed \(options.seed)")
        let server = try ServerProcess()
        defer { server.stop() }
        var findings = 0
        var running = 0
        for number in 0..<options.times {
            let child = try ChildProcess(
                ["--exit-in-traffic", server.ports.line, server.certificatePath, "\(options.seed)", "\(number)"],
                readsOutput: true)
            running += Int(child.readLine()) ?? 0
            let outcome = end(of: child)
            if outcome != "exit 0" {
                findings += 1
                say("FOUND: exit \(number) while tasks ran ended as \(outcome ?? "a hang")")
            }
        }
        say("  on average \(running / options.times) of \(tasks) tasks had not ended")
        say("Exit in traffic: \(findings == 0 ? "nothing was found." : "\(findings) findings.")")
        return findings == 0
    }

    private static func end(of child: ChildProcess) -> String? {
        for _ in 0..<3000 {
            if let outcome = child.poll() { return outcome }
            usleep(10_000)
        }
        kill(child.identifier, SIGABRT)
        _ = child.wait()
        return nil
    }

    static func beTheChild(_ arguments: [String]) -> Never {
        guard arguments.count == 4, let ports = Ports(line: arguments[0]), let seed = UInt64(arguments[2]),
            let number = Int(arguments[3])
        else { exit(2) }
        setenv("SSL_CERT_FILE", arguments[1], 1)
        let ledger = Ledger()
        let first = number * tasks
        let traffic = Traffic(seed: seed, window: tasks, ports: ports, ledger: ledger)
        traffic.start(first..<first + tasks)
        var random = SeededGenerator(seed: seed, series: number)
        usleep(UInt32(random.number(0...30_000)))
        say("\(ledger.liveCount)")
        exit(0)
    }
}
