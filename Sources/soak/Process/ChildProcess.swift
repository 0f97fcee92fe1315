import Foundation
import Glibc

/// This executable in another process.
final class ChildProcess {
    struct Failure: Error {
        let code: Int32
    }

    let identifier: pid_t
    private let input: Int32
    private let output: Int32

    /// With pipes for standard input and, optionally, standard output.
    init(_ arguments: [String], readsOutput: Bool) throws {
        var input: [Int32] = [-1, -1]
        var output: [Int32] = [-1, -1]
        guard pipe(&input) == 0, pipe(&output) == 0 else {
            throw Failure(code: errno)
        }
        for end in input + output { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        if readsOutput { posix_spawn_file_actions_adddup2(&actions, output[1], 1) }
        var texts: [UnsafeMutablePointer<CChar>?] = ([CommandLine.arguments[0]] + arguments).map { strdup($0) }
        defer { for text in texts { free(text) } }
        texts.append(nil)
        var identifier = pid_t()
        let result = posix_spawn(&identifier, "/proc/self/exe", &actions, nil, texts, environ)
        Glibc.close(input[0])
        Glibc.close(output[1])
        self.identifier = identifier
        self.input = input[1]
        self.output = output[0]
        guard result == 0 else { throw Failure(code: result) }
    }

    deinit {
        endInput()
        Glibc.close(output)
    }

    private var isInputEnded = false

    func endInput() {
        guard !isInputEnded else { return }
        isInputEnded = true
        Glibc.close(input)
    }

    func readLine() -> String {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        return String(decoding: line, as: UTF8.self)
    }

    /// How the process ended; nil while it runs.
    func poll() -> String? {
        var status: Int32 = 0
        guard waitpid(identifier, &status, WNOHANG) == identifier else { return nil }
        return Self.text(status)
    }

    func wait() -> String {
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        return Self.text(status)
    }

    private static func text(_ status: Int32) -> String {
        status & 0x7F == 0 ? "exit \(status >> 8 & 0xFF)" : "signal \(status & 0x7F)"
    }
}
