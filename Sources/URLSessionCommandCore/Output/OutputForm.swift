/// How the destination of a command is written: for a reader, or byte for byte.
struct OutputForm {
    /// Whether the destination is a terminal.
    let isTerminal: Bool
    let isFormatted: Bool
    let style: TextStyle

    init(_ command: CommandLineRequest, terminal: Terminal) {
        switch command.destination {
        case .file,
            .standardOutput where command.printsArchive:
            isTerminal = false
            isFormatted = false
        case .standardOutput(let exactly):
            isTerminal = terminal.outputIsTerminal
            isFormatted = !exactly && (terminal.outputIsTerminal || command.color == .always)
        }
        style =
            isFormatted
            ? TextStyle(command.color, isTerminal: isTerminal, terminal: terminal) : TextStyle(isColored: false)
    }
}
