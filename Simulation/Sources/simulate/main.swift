import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "--worlds", arguments.count > 1 { SimulatedProcess.runAll(Array(arguments.dropFirst())) }
exit(Campaign.run(arguments))
