import URLSessionCommandCore

@main
enum URLSessionCommand {
    static func main() {
        Command.runAndExit(arguments: Array(CommandLine.arguments.dropFirst()))
    }
}
