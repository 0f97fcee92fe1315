/// What the program is asked to do.
package enum CommandLineAction: Equatable, Sendable {
    case load(CommandLineRequest)
    /// To the file of its destination.
    case download(CommandLineRequest)
    case demo(color: CommandLineRequest.ColorChoice, showsProgress: Bool)
    case help
    case version
}
