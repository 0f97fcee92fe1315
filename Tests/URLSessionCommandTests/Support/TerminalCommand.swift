import Foundation
import TestSupport

/// The program on a terminal of its own, on which the test types. Its output goes to a file.
final class TerminalCommand {
    private let folder: TemporaryDirectory
    private let process: ChildProcess
    private let keyboard: Int32

    /// The shell leads the session, because the end of its leader resets the terminal.
    private static let script = "trap : INT; \"$@\"; echo \"exit $?\"; stty -a"

    /// `TIOCSPTLCK` and `TIOCGPTN` (ioctl_tty(2)).
    private static let setLock: UInt = 0x4004_5431
    private static let getNumber: UInt = 0x8004_5430

    init(_ arguments: [String]) throws {
        folder = try TemporaryDirectory()
        // What `posix_openpt`, `unlockpt` and `ptsname` do, which Swift does not import.
        keyboard = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard keyboard >= 0 else { throw POSIXFailure("open") }
        var lock: Int32 = 0
        var number: Int32 = 0
        guard ioctl(keyboard, Self.setLock, &lock) == 0, ioctl(keyboard, Self.getNumber, &number) == 0 else {
            throw POSIXFailure("ioctl")
        }
        let terminal = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { throw POSIXFailure("open") }
        defer { close(terminal) }
        process = try ChildProcess(
            "/usr/bin/setsid",
            ["--ctty", "--wait", "/bin/sh", "-c", Self.script, "sh", CommandHarness.executable()] + arguments,
            inheriting: [0: terminal], output: folder.file("output"))
    }

    deinit { close(keyboard) }

    /// Reads what the program shows on the terminal, until there is this text.
    func waitFor(_ text: String) throws {
        var shown: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 256)
        while !String(decoding: shown, as: UTF8.self).contains(text) {
            var waiting = pollfd(fd: keyboard, events: Int16(POLLIN), revents: 0)
            guard poll(&waiting, 1, 20_000) == 1 else { throw POSIXFailure("poll", code: ETIMEDOUT) }
            let count = read(keyboard, &buffer, buffer.count)
            guard count > 0 else { throw POSIXFailure("read") }
            shown += buffer[..<count]
        }
    }

    func enter(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard write(keyboard, bytes, bytes.count) == bytes.count else { throw POSIXFailure("write") }
    }

    /// The output, the exit code, and the settings of the terminal after the end.
    func finish() throws -> String {
        defer { process.end() }
        try process.waitForExit()
        return String(decoding: try Data(contentsOf: folder.file("output")), as: UTF8.self)
    }
}
