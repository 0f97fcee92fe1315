import Foundation
import TestSupport
import Testing

/// SIGINT and SIGTERM.
@Suite struct SignalTests {
    /// As a shell does for background jobs of a script.
    @Test("a signal that the caller has made it ignore does not end the program", arguments: [false, true])
    func ignoredInterrupt(_ isIgnored: Bool) throws {
        let asked = Signal("the request")
        let never = Signal("the end")
        let harness = try CommandHarness(
            .answering { request in
                asked.fire()
                return CannedResponse.text(request.path).held(until: never)
            })
        defer {
            never.fire()
            harness.server.stop()
        }
        let process = try ChildProcess(
            "/bin/sh",
            [
                "-c", "trap '' \(isIgnored ? "INT" : "HUP"); exec \"$@\"", "sh", CommandHarness.executable(),
                harness.url(),
            ])
        defer { process.end() }
        try asked.wait()
        process.send(SIGINT)
        // The first signal that is noticed decides.
        if isIgnored { process.send(SIGTERM) }
        #expect(try process.waitForExit() == .code(isIgnored ? 143 : 130))
    }
}
