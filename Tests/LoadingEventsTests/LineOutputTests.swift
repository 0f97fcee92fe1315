import Foundation
import LoadingEvents
import TestSupport
import Testing

/// Log lines, written to a pipe.
@Suite struct LineOutputTests {
    /// A small pipe, which reports that it is full once its last page of four has data.
    private final class Pipe {
        let exit: Int32
        let entrance: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw POSIXFailure("pipe") }
            (exit, entrance) = (ends[0], ends[1])
            // F_SETPIPE_SZ
            guard fcntl(entrance, 1031, 16_384) >= 0 else { throw POSIXFailure("fcntl") }
        }

        deinit {
            close(exit)
            close(entrance)
        }

        func read() -> String {
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            let count = Glibc.read(exit, &bytes, bytes.count)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }
    }

    // MISC-28
    @Test("each message is one line") func line() throws {
        let pipe = try Pipe()
        let output = LineOutput(pipe.entrance)
        output.write("one")
        output.write("two")
        #expect(pipe.read() == "URLLoading: one\nURLLoading: two\n")
    }

    // MISC-28: a reader that does not read or has closed does not block the writer
    @Test("a reader that pauses and continues") func stuckReader() throws {
        let pipe = try Pipe()
        let output = LineOutput(pipe.entrance)
        let text = String(repeating: "x", count: 500)
        let line = "URLLoading: \(text)\n"
        // More than the pipe's capacity: a blocking write would wait for ever.
        for _ in 0..<100 { output.write(text) }
        let kept = pipe.read()
        let count = kept.utf8.count / line.utf8.count
        #expect(kept == String(repeating: line, count: count) && count > 0)
        output.write("next")
        #expect(
            pipe.read() == """
                URLLoading: \(100 - count) lines are missing here: they were not read in time
                URLLoading: next

                """)
        output.write("last")
        #expect(pipe.read() == "URLLoading: last\n")
    }

    // MISC-28
    @Test("a closed reader and an invalid descriptor") func noReader() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw POSIXFailure("pipe") }
        close(ends[0])
        // The default action of SIGPIPE would end the process.
        let before = signal(SIGPIPE, SIG_DFL)
        defer { signal(SIGPIPE, before) }
        let output = LineOutput(ends[1])
        for _ in 0..<3 { output.write("nobody") }
        close(ends[1])
        LineOutput(-1).write("nowhere")
        LineOutput(1_000_000).write("nowhere")
    }

    private static func filling(_ number: Int) -> String { String(repeating: "\(number)", count: 700) }

    // MISC-28
    @Test("lines of several threads do not mix") func threads() async throws {
        let pipe = try Pipe()
        let output = LineOutput(pipe.entrance)
        let exit = pipe.exit
        let all = Watched("")
        let isRead = Signal("all that was written")
        Thread {
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = read(exit, &bytes, bytes.count)
                let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
                all.withValue { $0 += text }
                if count <= 0 || text.hasSuffix("URLLoading: end\n") { return isRead.fire() }
            }
        }.start()
        let writers = (0..<8).map { number in
            let isDone = Signal("the lines of \(number)")
            Thread {
                for index in 0..<200 { output.write("\(number) \(index) " + Self.filling(number)) }
                isDone.fire()
            }.start()
            return isDone
        }
        for writer in writers { try await writer.wait() }
        output.write("end")
        try await isRead.wait()
        let lines = all.current.split(separator: "\n").dropLast().filter { !$0.contains("missing") }
        #expect(!lines.isEmpty)
        for line in lines {
            let words = line.split(separator: " ")
            try #require(words.count == 4, "\(line)")
            #expect(words[0] == "URLLoading:" && words[3] == Self.filling(Int(words[1]) ?? -1))
        }
        // The lines of each thread keep their order.
        for number in 0..<8 {
            let indices = lines.compactMap { line -> Int? in
                let words = line.split(separator: " ")
                return words[1] == "\(number)" ? Int(words[2]) : nil
            }
            #expect(indices == indices.sorted())
        }
    }
}
