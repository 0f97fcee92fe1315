/// The shells for which there are completions, made from the table of switches.
package enum CompletionShell: String, Equatable, Sendable, CaseIterable {
    case bash, zsh, fish

    /// The script, for a file that the shell reads.
    package var script: String {
        switch self {
        case .bash: Self.bashScript
        case .zsh: Self.zshScript
        case .fish: Self.fishScript
        }
    }

    /// Methods and commands, the first word.
    private static var words: [String] { Arguments.verbs.sorted() + Arguments.commands }

    private static var switches: [CommandOption.Facts] { CommandOption.allCases.map(\.facts) }

    /// Whether the value is the name of a file or folder.
    private static func isFile(_ facts: CommandOption.Facts) -> Bool {
        guard let value = facts.value else { return false }
        return ["FILE", "FOLDER", "PATH", "DATA"].contains { value.contains($0) }
    }

    // MARK: bash

    private static var bashScript: String {
        let all = switches.flatMap { facts in
            ["--\(facts.long)"] + facts.aliases.map { "--\($0)" } + (facts.short.map { ["-\($0)"] } ?? [])
        }
        let names = { (facts: CommandOption.Facts) -> [String] in
            ["--\(facts.long)"] + facts.aliases.map { "--\($0)" } + (facts.short.map { ["-\($0)"] } ?? [])
        }
        let files = switches.filter(isFile).flatMap(names).joined(separator: "|")
        let others = switches.filter { $0.value != nil && !isFile($0) }.flatMap(names).joined(separator: "|")
        return """
            # bash completion for urlsession
            _urlsession() {
                local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
                COMPREPLY=()
                case "$previous" in
                    --color) COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
                    completion) COMPREPLY=($(compgen -W "\(allCases.map(\.rawValue).joined(separator: " "))" -- "$current")); return ;;
                    \(files)) COMPREPLY=($(compgen -f -- "$current")); return ;;
                    \(others)) return ;;
                esac
                case "$current" in
                    -*) COMPREPLY=($(compgen -W "\(all.joined(separator: " "))" -- "$current")) ;;
                    *) [ "$COMP_CWORD" -eq 1 ] && COMPREPLY=($(compgen -W "\(words.joined(separator: " "))" -- "$current"))
                       COMPREPLY+=($(compgen -f -- "$current")) ;;
                esac
            }
            complete -o filenames -F _urlsession urlsession

            """
    }

    // MARK: zsh

    private static var zshScript: String {
        let lines = switches.flatMap { facts in
            let summary = escapedForZsh(facts.summary)
            let value = facts.value.map { ":\(escapedForZsh($0)):\(isFile(facts) ? "_files" : " ")" } ?? ""
            let long = "'*--\(facts.long)\(facts.value == nil ? "" : "=")[\(summary)]\(value)'"
            return [long]
                + (facts.short.map { ["'*-\($0)\(facts.value == nil ? "" : "+")[\(summary)]\(value)'"] } ?? [])
        }
        return """
            #compdef urlsession
            # zsh completion for urlsession
            _urlsession() {
                _arguments -s -S \\
                    \(lines.joined(separator: " \\\n        ")) \\
                    '1: :_urlsession_words' '*: :_urls'
            }
            _urlsession_words() {
                local -a words
                words=(\(words.joined(separator: " ")))
                _describe 'command' words || _urls
            }
            if [ "$funcstack[1]" = "_urlsession" ]; then _urlsession "$@"; else compdef _urlsession urlsession; fi

            """
    }

    private static func escapedForZsh(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("[", with: "\\[").replacing("]", with: "\\]")
            .replacing(":", with: "\\:").replacing("'", with: "'\\''")
    }

    // MARK: fish

    private static var fishScript: String {
        let lines = switches.map { facts in
            var line = "complete -c urlsession -l \(facts.long)"
            if let short = facts.short { line += " -s '\(short)'" }
            if facts.value != nil { line += isFile(facts) ? " -r -F" : " -x" }
            if facts.long == "color" { line += " -a 'auto always never'" }
            return line + " -d '\(escapedForFish(facts.summary))'"
        }
        let shells = allCases.map(\.rawValue).joined(separator: " ")
        return """
            # fish completion for urlsession
            complete -c urlsession -n __fish_use_subcommand -a '\(words.joined(separator: " "))'
            complete -c urlsession -n '__fish_seen_subcommand_from completion' -x -a '\(shells)'
            \(lines.joined(separator: "\n"))

            """
    }

    private static func escapedForFish(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    }
}
