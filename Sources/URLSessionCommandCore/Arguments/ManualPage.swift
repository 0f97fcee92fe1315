/// The manual page, in the language of man(7), made from the table of switches.
package enum ManualPage {
    package static var text: String {
        let sections = OptionSection.allCases.map { section in
            let switches = CommandOption.allCases.map(\.facts).filter { $0.section == section }
            return ".SS \(escaped(section.rawValue))\n" + switches.map(entry).joined()
        }
        return """
            .TH URLSESSION 1 "" "urlsession \(escaped(Command.version))" "User Commands"
            .SH NAME
            urlsession \\- load URLs with URLSession
            .SH SYNOPSIS
            .B urlsession
            .RI [ METHOD ] " URL" "... [" switches ]
            .br
            \(commands.map { ".B urlsession \(escaped($0.line))" }.joined(separator: "\n.br\n"))
            .SH DESCRIPTION
            Loads URLs and writes the bodies of the responses. A terminal gets head, colour and layout; a pipe or a file gets
            the exact bytes. The scheme of a URL may be omitted: it is http for this machine, and https for other hosts.
            The switches have curl's names and meanings, where curl has the same.
            .SH COMMANDS
            \(commands.map { ".TP\n.B \(escaped($0.line))\n\(escaped($0.summary))\n" }.joined())\
            .SH SWITCHES
            \(sections.joined())\
            .SH FILES
            .TP
            .I $XDG_CONFIG_HOME/urlsession/config
            or ~/.config/urlsession/config: switches for every run, one on each line.
            .TP
            .I $XDG_CONFIG_HOME/urlsession/sessions
            what \\-\\-session keeps.
            .SH ENVIRONMENT
            .TP
            .B http_proxy, https_proxy, ftp_proxy, all_proxy, no_proxy
            the proxies, unless \\-x or \\-\\-noproxy names them.
            .TP
            .B NO_COLOR
            no colours.
            .TP
            .B SSLKEYLOGFILE
            a file to which the secrets of TLS connections are appended, for tools that decrypt recorded traffic.
            .SH EXIT STATUS
            0 if the URL was loaded, whatever its status without \\-f. Other codes are those of curl where curl has one for the
            same failure: 2 usage, 6 host not found, 7 no connection, 22 a status of 400 or more with \\-f, 28 timeout,
            60 certificate not trusted.
            .SH SEE ALSO
            .BR curl (1)

            """
    }

    private static let commands: [(line: String, summary: String)] = [
        ("download URL [FILE]", "downloads to a file, and resumes an earlier run"),
        ("upload FILE URL", "sends a file with PUT, and shows the progress"),
        ("ws URL", "opens a WebSocket: lines in, messages out"),
        ("connect HOST PORT", "opens a TCP connection, also with TLS"),
        ("background ACTION", "adds and shows transfers that outlive the command"),
        ("completion SHELL", "prints the completions for bash, zsh or fish"),
        ("manual", "prints this page; 'urlsession manual | man -l -' shows it"),
        ("demo", "shows the features with a server of its own"),
    ]

    private static func entry(_ facts: CommandOption.Facts) -> String {
        let value = facts.value.map { " \\fI\(escaped($0))\\fR" } ?? ""
        let names = (facts.short.map { ["-\($0)"] } ?? []) + ["--\(facts.long)"] + facts.aliases.map { "--\($0)" }
        let heading = names.map { "\\fB\(escaped($0))\\fR" }.joined(separator: ", ") + value
        // A literal such as `http://` stays as it is typed.
        let isLiteral = facts.summary.prefix { $0 != " " }.contains { "/,".contains($0) }
        let summary = isLiteral ? facts.summary : facts.summary.prefix(1).uppercased() + facts.summary.dropFirst()
        return ".TP\n\(heading)\n\(escaped(summary)).\n"
    }

    /// Hyphens as they are typed, and no line that begins as a request.
    private static func escaped(_ text: String) -> String {
        let text = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }
}
