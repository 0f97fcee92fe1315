import URLSessionCommandCore

@main
enum URLSessionCommand {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let list = UnsafeMutableBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
        ArgumentSecrets.hide(in: UnsafeMutableBufferPointer(rebasing: list.dropFirst()))
        Command.runAndExit(arguments: arguments)
    }
}
