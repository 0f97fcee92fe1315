import Foundation
import TestSupport
import Testing

@testable import URLSessionCommandCore

/// The manual page and the completions, which are made from the table of switches.
@Suite struct CompletionTests {
    @Test(arguments: CompletionShell.allCases) func everySwitch(_ shell: CompletionShell) throws {
        let outcome = try RunningCommand.run(["completion", shell.rawValue])
        #expect(outcome == RunningCommand.Outcome(exit: .code(0), output: shell.script))
        let missing = CommandOption.allCases.filter { option in
            !outcome.output.contains(shell == .fish ? "-l \(option.long)" : "--\(option.long)")
        }
        #expect(missing == [])
    }

    @Test func bashCompletes() throws {
        let folder = try TemporaryDirectory()
        let script = try folder.write(CompletionShell.bash.script, to: "completion").path
        func complete(_ words: String...) throws -> Set<String> {
            let line = words.map { "'\($0)'" }.joined(separator: " ")
            let program = """
                source '\(script)'; COMP_WORDS=(urlsession \(line)); COMP_CWORD=\(words.count); _urlsession
                printf '%s\\n' "${COMPREPLY[@]}"
                """
            let (exit, output) = try ChildProcess.run("/bin/bash", ["--norc", "-c", program])
            #expect(exit == .code(0), "\(output)")
            return Set(output.split(separator: "\n").map(String.init))
        }
        #expect(try complete("--retry-d") == ["--retry-delay"])
        #expect(try complete("down") == ["download"])
        #expect(try complete("--color", "a") == ["auto", "always"])
        #expect(try complete("completion", "f") == ["fish"])
        #expect(try complete("background", "l") == ["list", "log"])
        #expect(try complete("help", "w") == ["ws"])
        #expect(try complete("-o", script) == [script])
        // A name with a blank is one name.
        let blank = try folder.write("", to: "a name").path
        #expect(try complete("-o", String(blank.dropLast(3))) == [blank])
        #expect(try complete("upload", String(blank.dropLast(3))) == [blank])
        #expect(try complete("--retry", "") == [])
    }

    @Test(.needs("zsh", of: "zsh", access("/usr/bin/zsh", X_OK) == 0)) func zshParses() throws {
        let folder = try TemporaryDirectory()
        let script = try folder.write(CompletionShell.zsh.script, to: "_urlsession").path
        let (exit, output) = try ChildProcess.run("/usr/bin/zsh", ["-fn", script])
        #expect(exit == .code(0), "\(output)")
    }

    @Test(.needs("fish", of: "fish", access("/usr/bin/fish", X_OK) == 0)) func fishParses() throws {
        let folder = try TemporaryDirectory()
        let script = try folder.write(CompletionShell.fish.script, to: "urlsession.fish").path
        let (exit, output) = try ChildProcess.run("/usr/bin/fish", ["-n", script])
        #expect(exit == .code(0), "\(output)")
    }

    @Test func manualPage() throws {
        let text = try RunningCommand.run(["manual"]).output
        #expect(text == ManualPage.text)
        let missing = CommandOption.allCases.filter {
            !text.contains("\\fB\\-\\-\($0.long.replacing("-", with: "\\-"))\\fR")
        }
        #expect(missing == [])
        // A literal is not written with a capital letter.
        #expect(text.contains("\nhttp://, https://, socks5h:// or socks4a://"))
        #expect(text.contains("\nauto, always or never."))
    }

    @Test(.needs("groff", of: "groff-base", access("/usr/bin/groff", X_OK) == 0)) func groffFormatsTheManualPage()
        throws
    {
        let text = try RunningCommand.run(["manual"]).output
        let folder = try TemporaryDirectory()
        let page = try folder.write(text, to: "urlsession.1").path
        let (exit, output) = try ChildProcess.run("/usr/bin/groff", ["-man", "-ww", "-z", page])
        #expect(exit == .code(0))
        #expect(output == "")
    }

    /// One table describes each switch once.
    @Test func namesAreUnique() {
        #expect(Set(CommandOption.allNames).count == CommandOption.allNames.count)
        let letters = CommandOption.allCases.compactMap(\.short)
        #expect(Set(letters).count == letters.count)
        #expect(CommandOption.allCases.filter { $0.facts.summary.isEmpty || $0.facts.summary.hasSuffix(".") } == [])
        #expect(CommandOption.allNames.filter { RefusedOption.advice(long: $0) != nil } == [])
        #expect(letters.filter { RefusedOption.advice(short: $0) != nil } == [])
    }
}
