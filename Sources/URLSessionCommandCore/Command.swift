import Foundation

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The entry point of the program: parses the arguments, runs the command, and returns its exit code.
package enum Command {
    package static let version = "0.1.0"

    package static func runAndExit(arguments: [String]) -> Never {
        StandardDescriptors.openClosed()
        exit(run(arguments: arguments, terminal: .current()).rawValue)
    }

    package static func run(arguments: [String], terminal: Terminal) -> ExitCode {
        // With SIGPIPE ignored, a closed reader makes `write` fail with EPIPE instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        do throws(UsageError) {
            let files = ConfigurationFiles.ofUser(ProcessInfo.processInfo.environment)
            switch try Arguments.parse(arguments, files: files) {
            case .help(let help): return show(help.text)
            case .version: return show("urlsession \(version) (swift-url-loading)\n")
            case .demo(let color, let showsProgress):
                return Demo(color: color, showsProgress: showsProgress, terminal: terminal).run()
            case .load(let request):
                return try LoadSeries([request], SeriesOptions(), terminal: terminal).run()
            case .loads(let requests, let options):
                return try LoadSeries(requests, options, terminal: terminal).run()
            case .webSocket(let request, let options):
                return try WebSocketCommand(request, options, terminal: terminal).run()
            case .connect(let request, let options):
                return try ConnectCommand(request, options, terminal: terminal).run()
            case .background(let request, let options):
                return try BackgroundCommand(request, options, terminal: terminal).run()
            case .completion(let shell): return show(shell.script)
            case .manual: return show(ManualPage.text)
            case .download(let request): return try Download(request, terminal: terminal).run()
            }
        } catch {
            StandardError.write("urlsession: \(TextSanitizer.clean(error.message))")
            StandardError.write(error.exitCode == .usage ? " (try 'urlsession --help')\n" : "\n")
            return error.exitCode
        }
    }

    private static func show(_ text: String) -> ExitCode {
        do throws(FileError) {
            try OutputDescriptor.standardOutput.write(text)
            return .success
        } catch {
            return TransferFailure(error).exitCode
        }
    }
}
