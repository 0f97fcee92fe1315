import Foundation
import TestSupport
import Testing

@Suite struct ChildProcessTests {
    @Test("a program's output and exit code are given") func aProgramsOutputAndExitCodeAreGiven() throws {
        let result = try ChildProcess.run("/bin/sh", ["-c", "echo $WORD; exit 3"], environment: ["WORD": "hello"])
        #expect(result.exit == .code(3))
        #expect(result.output == "hello\n")
    }

    @Test("a program that does not go by itself is ended") func aProgramThatDoesNotGoByItselfIsEnded() throws {
        let process = try ChildProcess("/bin/sleep", ["600"])
        #expect(process.exit == nil)
        process.end()
        #expect(process.exit == .signal(SIGTERM))
        #expect(kill(process.processID, 0) == -1)
    }
}
