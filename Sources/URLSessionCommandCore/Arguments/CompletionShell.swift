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

    /// Commands whose next word is one of a few.
    private static var nextWords: [(command: String, words: String)] {
        [
            ("completion", allCases.map(\.rawValue)),
            ("background", BackgroundOptions.Action.forPeople.map(\.rawValue)),
            ("help", ["ws", "connect", "background"]),
        ].map { ($0, $1.joined(separator: " ")) }
    }

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
        let next = nextWords.map {
            "\($0.command)) COMPREPLY=($(compgen -W \"\($0.words)\" -- \"$current\")); return ;;"
        }
        return """
            # bash completion for urlsession
            _urlsession() {
                local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
                COMPREPLY=()
                case "$previous" in
                    --color) COMPREPLY=($(compgen -W "auto always never" -- "$current")); return ;;
                    \(files)) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
                    \(others)) return ;;
                esac
                [ "$COMP_CWORD" -eq 2 ] && case "$previous" in
                    \(next.joined(separator: "\n        "))
                esac
                case "$current" in
                    -*) COMPREPLY=($(compgen -W "\(all.joined(separator: " "))" -- "$current")) ;;
                    *) [ "$COMP_CWORD" -eq 1 ] && COMPREPLY=($(compgen -W "\(words.joined(separator: " "))" -- "$current"))
                       mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current") ;;
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
                    '1: :_urlsession_words' '2: :_urlsession_next' '*: :_urls'
            }
            _urlsession_words() {
                local -a words
                words=(\(words.joined(separator: " ")))
                _describe 'command' words || _urls
            }
            _urlsession_next() {
                case "$words[2]" in
                    \(nextWords.map { "\($0.command)) compadd -- \($0.words) ;;" }.joined(separator: "\n        "))
                    download|ws|connect) _urls ;;
                    *) _alternative 'urls: :_urls' 'files: :_files' ;;
                esac
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
        let next = nextWords.map {
            "complete -c urlsession -n '__fish_seen_subcommand_from \($0.command)' -x -a '\($0.words)'"
        }
        return """
            # fish completion for urlsession
            complete -c urlsession -n __fish_use_subcommand -a '\(words.joined(separator: " "))'
            \(next.joined(separator: "\n"))
            \(lines.joined(separator: "\n"))

            """
    }

    private static func escapedForFish(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    }
}
