import Foundation
import TestSupport
import Testing

/// `scripts/build-release`, with a `swift` that builds nothing.
@Suite struct BuildReleaseScriptTests {
    private func run(printing text: String, ending status: Int32, _ arguments: [String]) throws -> (
        exit: ChildProcess.Exit, output: String
    ) {
        let folder = try TemporaryDirectory()
        let swift = try folder.write(
            """
            #!/bin/sh
            echo "$*"
            cat <<'END' >&2
            \(text)
            END
            exit \(status)

            """, to: "swift")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: swift.path)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("scripts/build-release").path
        return try ChildProcess.run(script, arguments, environment: ["SWIFT": swift.path])
    }

    private static let warning = "/main/Sources/URLLoading/A.swift:248:9: warning: variable 'a' was never used"

    @Test(
        "a warning fails a strict build",
        arguments: [warning, "/main/Sources/CLoadingZlib/a.c:1:2: warning: unused", "warning: 'main': unhandled file"])
    func warns(text: String) throws {
        let strict = try run(printing: text, ending: 0, ["--strict", "--product", "urlsession"])
        #expect(strict.exit == .code(1))
        #expect(
            strict.output == """
                build -c release --product urlsession
                \(text)
                A release build must not warn:
                \(text)

                """)
        let other = try run(printing: text, ending: 0, ["--product", "urlsession"])
        #expect(other.exit == .code(0))
        #expect(other.output == "build -c release --product urlsession\n\(text)\n")
    }

    @Test(
        "what is no warning of this package does not",
        arguments: ["[7/9] Compiling Warnings.swift", "/usr/bin/ld.gold: warning: of the linker", "Build complete!"])
    func isQuiet(text: String) throws {
        let end = try run(printing: text, ending: 0, ["--strict"])
        #expect(end.exit == .code(0))
        #expect(end.output == "build -c release\n\(text)\n")
    }

    @Test("a build that fails", arguments: [[], ["--strict"]]) func fails(arguments: [String]) throws {
        #expect(try run(printing: Self.warning, ending: 3, arguments).exit == .code(3))
    }
}
