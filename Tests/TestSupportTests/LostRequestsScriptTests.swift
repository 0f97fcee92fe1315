import Foundation
import TestSupport
import Testing

/// `scripts/lost-requests`, with a `swift` that only plays the tests.
@Suite struct LostRequestsScriptTests {
    @Test("it prints the rows, and ends as the tests do", arguments: [0, 1]) func ends(status: Int32) throws {
        let folder = try TemporaryDirectory()
        let program = try folder.write(
            """
            #!/bin/sh
            [ "$LOST_REQUESTS" = 5 ] || exit 9
            echo '| server | GET | 7 | 0 |' >>"$LOST_REQUESTS_ROWS"
            echo '| server | POST | 7 | 1 |' >>"$LOST_REQUESTS_ROWS"
            exit \(status)

            """, to: "swift")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("scripts/lost-requests").path
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let (exit, output) = try ChildProcess.run(script, ["5"], environment: ["PATH": "\(folder.path):\(path)"])
        #expect(exit == .code(status))
        #expect(
            output == """
                | server | request | answered | lost |
                |---|---|---|---|
                | server | GET | 7 | 0 |
                | server | POST | 7 | 1 |

                """)
    }
}
