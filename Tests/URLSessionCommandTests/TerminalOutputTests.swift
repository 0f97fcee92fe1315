import Foundation
import Testing

@testable import URLSessionCommandCore

/// Text from servers on a terminal, whatever writes it.
@Suite struct TerminalOutputTests {
    @Test func escapeSequencesAreShown() throws {
        let terminal = posix_openpt(O_RDWR | O_NOCTTY)
        try #require(terminal >= 0)
        defer { close(terminal) }
        try #require(grantpt(terminal) == 0 && unlockpt(terminal) == 0)
        let name = try #require(ptsname(terminal).map { String(cString: $0) })
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
