import Foundation
import TestSupport

/// The program in its own process, with standard input from the test, and standard output and error apart.
final class RunningCommand {
    private let folder: TemporaryDirectory
    private let process: ChildProcess
    private var input: FileHandle?
    private let port: Int?

    /// - Parameter server: Its address is replaced by `PLACE` in the messages.
    init(_ arguments: [String], server: ScriptedServer? = nil) throws {
        folder = try TemporaryDirectory()
        port = server?.port
        // No child, nor that of another test, may inherit the end that the test writes to.
        let pipe = folder.file("input").path
        guard mkfifo(pipe, 0o600) == 0 else { throw POSIXFailure("mkfifo") }
        let reading = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard reading >= 0 else { throw POSIXFailure("open") }
        defer { close(reading) }
        _ = fcntl(reading, F_SETFL, 0)
        let writing = open(pipe, O_WRONLY | O_CLOEXEC)
        guard writing >= 0 else { throw POSIXFailure("open") }
        input = FileHandle(fileDescriptor: writing, closeOnDealloc: true)
        let output = open(folder.file("output").path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw POSIXFailure("open") }
        defer { close(output) }
        process = try ChildProcess(
            CommandHarness.executable(), arguments, inheriting: [0: reading, 1: output],
            output: folder.file("errors"))
    }

    /// Runs the program to its end.
    static func run(
        _ arguments: [String], input: some Sequence<UInt8>, server: ScriptedServer? = nil
    ) throws -> Outcome {
        let command = try RunningCommand(arguments, server: server)
        try command.write(input)
        command.endInput()
        return try command.finish()
    }

    static func run(_ arguments: [String], input: String = "", server: ScriptedServer? = nil) throws -> Outcome {
        try run(arguments, input: input.utf8, server: server)
    }

    struct Outcome: Equatable {
        var exit: ChildProcess.Exit
        var output: String
        var errors = ""
    }

    /// What a program that has ended does not read is lost, as in a shell.
    func write(_ bytes: some Sequence<UInt8>) throws {
        guard let descriptor = input?.fileDescriptor else { return }
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard written >= 0 else {
                if errno == EPIPE { return }
                throw POSIXFailure("write")
            }
            rest = rest.dropFirst(written)
        }
    }

    /// The number of bytes that the program has taken when it has taken nothing for a while, or `limit`.
    func fill(upTo limit: Int, quiet: Duration) throws -> Int {
        guard let descriptor = input?.fileDescriptor else { return 0 }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let piece = [UInt8](repeating: 65, count: 64 * 1024)
        var count = 0
        while count < limit {
            let written = Glibc.write(descriptor, piece, piece.count)
            if written > 0 {
                count += written
            } else {
                guard errno == EAGAIN else { throw POSIXFailure("write") }
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                let milliseconds =
                    quiet.components.seconds * 1000 + quiet.components.attoseconds / 1_000_000_000_000_000
                if poll(&waiting, 1, Int32(milliseconds)) == 0 { return count }
            }
        }
        return count
    }

    func endInput() {
        try? input?.close()
        input = nil
    }

    func send(_ signal: Int32) { process.send(signal) }

    func finish() throws -> Outcome {
        defer { process.end() }
        let exit = try process.waitForExit()
        return Outcome(exit: exit, output: try text("output"), errors: try text("errors"))
    }

    private func text(_ name: String) throws -> String {
        let text = String(decoding: try Data(contentsOf: folder.file(name)), as: UTF8.self)
        guard let port else { return text }
        return text.replacing("127.0.0.1:\(port)", with: "PLACE").replacing("localhost:\(port)", with: "PLACE")
    }
}
