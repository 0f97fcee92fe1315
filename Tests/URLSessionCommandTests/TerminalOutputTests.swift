import Foundation
import Glibc
import Testing

@testable import URLSessionCommandCore

/// Text from servers on a terminal, whatever writes it.
@Suite struct TerminalOutputTests {
    @Test func escapeSequencesAreShown() throws {
        // The flag of a lock that every new terminal has, and its number: `unlockpt` and `ptsname`, which Glibc's
        // module lacks.
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(terminal >= 0)
        defer { close(terminal) }
        var (lock, number): (Int32, UInt32) = (0, 0)
        try #require(ioctl(terminal, 0x4004_5431, &lock) == 0 && ioctl(terminal, 0x8004_5430, &number) == 0)
        let name = "/dev/pts/\(number)"
        let output = try OutputDescriptor.create(path: name)
        try output.write(shown: "X: \u{1B}]0;new\u{7}b")
        var bytes = [UInt8](repeating: 0, count: 100)
        let count = read(terminal, &bytes, bytes.count)
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        #expect(text.hasPrefix("X: ^[]0;new"))
        #expect(!text.contains("\u{1B}") && !text.contains("\u{7}"))
        try output.finish()
    }
}
