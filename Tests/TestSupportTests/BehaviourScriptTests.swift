import Foundation
import TestSupport
import Testing

/// `scripts/behaviour`, in a project with one page of rules. Its group has a name that this project does not use, or
/// the ids below would count as named here.
@Suite struct BehaviourScriptTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("scripts/behaviour")
        try folder.write(String(contentsOf: script, encoding: .utf8), to: "scripts/behaviour")
        try folder.write(
            "<!-- counts -->\n| [Rules](rules.md) |\n<!-- end of counts -->\n", to: "docs/behaviour/README.md")
        try folder.write(
            """
            # Rules

            - **XX-1** [A] One.
            - **XX-2** [A] Two.
            - **XX-3** [A] Three.
              - [GoneTests](../../Tests/GoneTests.swift): gone
            - **XX-4** [A] Four.

            """, to: "docs/behaviour/rules.md")
        try folder.write(
            """
            # Known differences

            ## Not there yet

            | what | rules |
            |---|---|
            | Fourth things (XX-4) | none |

            """, to: "KNOWN-DIFFERENCES.md")
        try test("// XX-1..2, XX-3")
    }

    /// Writes a file with one test, which a comment precedes.
    private func test(_ comment: String) throws {
        try folder.write(
            "@Suite struct ATests {\n    \(comment)\n    @Test(\"a\") func a() {\n    }\n}\n", to: "Tests/ATests.swift")
    }

    private func run(_ arguments: String...) throws -> (exit: ChildProcess.Exit, output: String) {
        let script = folder.file("scripts/behaviour").path
        return try ChildProcess.run(
            "/usr/bin/env", ["python3", script] + arguments, environment: ProcessInfo.processInfo.environment)
    }

    @Test("a stale page fails the check, and is rewritten") func stale() throws {
        let stale = try run("--check")
        #expect(stale.exit == .code(1))
        #expect(
            stale.output == """
                docs/behaviour/README.md: stale; run scripts/behaviour
                docs/behaviour/rules.md: stale; run scripts/behaviour

                """)
        #expect(try run().exit == .code(0))
        #expect(
            try String(contentsOf: folder.file("docs/behaviour/rules.md"), encoding: .utf8) == """
                # Rules

                - **XX-1** [A] One.
                  - [ATests](../../Tests/ATests.swift): a
                - **XX-2** [A] Two.
                  - [ATests](../../Tests/ATests.swift): a
                - **XX-3** [A] Three.
                  - [ATests](../../Tests/ATests.swift): a
                - **XX-4** [A] Four.
                  - Not available yet: [Fourth things](../../KNOWN-DIFFERENCES.md#not-there-yet)

                """)
        #expect(try run("--check").exit == .code(0))
    }

    @Test(
        "a rule that does not exist, or has no test, fails the check",
        arguments: [
            ("// XX-1 to XX-3, XX-5", "Tests/ATests.swift: XX-5 is no rule"),
            ("// XX-1 to XX-3, XX-4..9", "Tests/ATests.swift: XX-4..9 is no rule"),
            ("// XX-1, XX-3", "XX-2: neither a test nor a row in KNOWN-DIFFERENCES.md"),
        ]) func problems(comment: String, problem: String) throws
    {
        try test(comment)
        let first = try run()
        #expect(first.exit == .code(1))
        #expect(first.output == problem + "\n")
    }
}
