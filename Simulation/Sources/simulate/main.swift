import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "--world", let seed = arguments.dropFirst().first.flatMap({ UInt64($0) }) {
    SimulatedProcess.run(seed: seed, traces: arguments.contains("--trace"))
}
exit(Campaign.run(arguments))
