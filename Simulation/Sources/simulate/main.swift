import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "--world", let options = SimulatedProcess.Options(arguments.dropFirst()) {
    SimulatedProcess.run(options)
}
exit(Campaign.run(arguments))
