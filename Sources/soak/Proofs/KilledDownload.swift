import Foundation
import Glibc

/// `urlsession download` may be killed at any moment: the next run resumes, and the file equals the server's byte for
/// byte.
///
/// Some bodies change on the server meanwhile, and change back. The file is then exactly one of the versions.
struct KilledDownload {
    private let server: ServerProcess
    private let folder: String
    private var random: SeededGenerator

    /// When the kills happened.
    private var early = 0
    private var within = 0
    private var late = 0
    private var findings = 0

    /// The condition for a kill.
    private enum Moment {
        case time(microseconds: Int)
        case record
        case wholeBody
        case target
    }

    /// The timeout of a run, in microseconds.
    private static let timeout = 30_000_000
    private static let mostKillsOfAFile = 6

    static func run(_ options: Options) throws -> Bool {
        say("Killed download: \(options.points) times, seed \(options.seed)")
        let server = try ServerProcess()
        defer { server.stop() }
        Watchdog.start(limit: 120 + 3 * options.points)
        let folder = NSTemporaryDirectory() + "soak-kill-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        var proof = Self(server: server, folder: folder, random: SeededGenerator(seed: options.seed))
        var files = 0
        while proof.kills < options.points {
            try proof.load(file: files, kills: min(Self.mostKillsOfAFile, options.points - proof.kills))
            files += 1
        }
        say(
            "  \(files) files; killed \(proof.early) times before anything was kept, \(proof.within) within the body, "
                + "\(proof.late) after the file was in its place")
        say("Killed download: \(proof.findings == 0 ? "nothing was found." : "\(proof.findings) findings.")")
        return proof.findings == 0
    }

    private init(server: ServerProcess, folder: String, random: SeededGenerator) {
        self.server = server
        self.folder = folder
        self.random = random
    }

    private var kills: Int { early + within + late }

    /// Downloads one file, with at most so many kills.
    private mutating func load(file number: Int, kills most: Int) throws {
        let isSecure = random.chance(30)
        let isChanging = random.chance(40)
        let size = random.number(1...6_000_000)
        // From about 8 MB/s to about 60 MB/s, limited by the resolution of the system's timers.
        let answer = ServerScript.ranged(size: size, pause: random.number(200...2000), isChanging: isChanging)
        let base =
            isSecure ? "https://127.0.0.1:\(server.ports.secure)" : "http://127.0.0.1:\(server.ports.plain)"
        let target = folder + "/\(number)"
        let arguments = ["--urlsession", "download", base + answer.path, target, "-sS"]
        for _ in 0..<most {
            guard try killOrEnd(ChildProcess(arguments, readsOutput: false), target, size) else { break }
        }
        if isDone(target) {
            // The process was killed after the file was complete, possibly before it removed this folder.
            rmdir(target + ".download")
            return check(target, size, isChanging)
        }
        let child = try ChildProcess(arguments, readsOutput: false)
        if let outcome = end(of: child, within: Self.timeout), outcome != "exit 0" {
            return find("the last run for file \(number) ended as \(outcome)")
        }
        check(target, size, isChanging)
    }

    /// Returns false if the process ended before it was killed.
    private mutating func killOrEnd(_ child: ChildProcess, _ target: String, _ size: Int) -> Bool {
        let limit = Self.timeout
        var waited = 0
        let moment = moment(size)
        while waited < limit, !hasCome(moment, waited, target, size) {
            if let outcome = child.poll() {
                if outcome != "exit 0" { find("a run ended by itself as \(outcome)") }
                return false
            }
            usleep(200)
            waited += 260
        }
        usleep(UInt32(random.number(0...2500)))
        kill(child.identifier, SIGKILL)
        guard child.wait() == "signal 9" else { return false }
        if access(target, F_OK) == 0 {
            late += 1
        } else if access(target + ".download/record", F_OK) == 0 {
            within += 1
        } else {
            early += 1
        }
        return !isDone(target)
    }

    /// Whether the file is complete. Another run would only find that it exists.
    private func isDone(_ target: String) -> Bool {
        access(target, F_OK) == 0 && access(target + ".download/record", F_OK) != 0
    }

    private mutating func moment(_ size: Int) -> Moment {
        switch random.number(0...9) {
        case 0: .record
        case 1, 2: .wholeBody
        case 3: .target
        default: .time(microseconds: random.number(0...400_000))
        }
    }

    private func hasCome(_ moment: Moment, _ waited: Int, _ target: String, _ size: Int) -> Bool {
        switch moment {
        case .time(let microseconds): return waited >= microseconds
        case .record: return access(target + ".download/record", F_OK) == 0
        case .target: return access(target, F_OK) == 0
        case .wholeBody:
            let names = (try? FileManager.default.contentsOfDirectory(atPath: target + ".download")) ?? []
            return names.contains { name in
                var status = stat()
                return stat(target + ".download/" + name, &status) == 0 && status.st_size == size
            } || access(target, F_OK) == 0
        }
    }

    private func end(of child: ChildProcess, within timeout: Int) -> String? {
        for _ in 0..<timeout / 1000 {
            if let outcome = child.poll() { return outcome }
            usleep(1000)
        }
        kill(child.identifier, SIGKILL)
        _ = child.wait()
        return "a hang"
    }

    private mutating func check(_ target: String, _ size: Int, _ isChanging: Bool) {
        let data = (try? Data(contentsOf: URL(fileURLWithPath: target))) ?? Data()
        let versions = isChanging ? BodyPattern.versions : 1
        let isOneOfThem = (0..<versions).contains { BodyPattern.matches(data, at: BodyPattern.shift(of: $0)) }
        if data.count != size || !isOneOfThem {
            find("'\(target)' has \(data.count) of \(size) bytes\(isOneOfThem ? "" : ", and other ones")")
        }
        let left = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        if left.count != 1 { find("there is more than the file: \(left)") }
        for name in left { try? FileManager.default.removeItem(atPath: folder + "/" + name) }
    }

    private mutating func find(_ what: String) {
        findings += 1
        say("FOUND: \(what)")
    }
}
