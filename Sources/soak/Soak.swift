import Foundation
import URLSessionCommandCore

/// `make soak`: long, disturbed and large transfers with a loopback server. `--help` lists the scenarios.
@main
enum Soak {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.count == 2, arguments[0] == "--serve" { Server.run(certificatePath: arguments[1]) }
        if arguments == ["--serve-websockets"] { WebSocketServer.run() }
        if arguments.first == "--exit-in-traffic" { ExitInTraffic.beTheChild(Array(arguments.dropFirst())) }
        if arguments.first == "--killed-upload" { KilledUpload.beTheChild(Array(arguments.dropFirst())) }
        if arguments.first == "--urlsession" { Command.runAndExit(arguments: Array(arguments.dropFirst())) }
        guard let options = Options(arguments) else {
            say(Options.usage)
            exit(arguments == ["--help"] ? 0 : 2)
        }
        do {
            exit(try run(options, arguments) ? 0 : 1)
        } catch {
            say("It cannot begin: \(error)")
            exit(1)
        }
    }

    private static func run(_ options: Options, _ arguments: [String]) throws -> Bool {
        switch options.proof {
        case .traffic: return try DisturbedTraffic.run(options)
        case .exit: return try ExitInTraffic.run(options)
        case .slowReader: return try SlowReader.run(options)
        case .concurrent: return try ConcurrentRequests.run(options)
        case .large: return try LargeFile.run(options)
        case .killedDownload: return try KilledDownload.run(options)
        case .killedUpload: return try KilledUpload.run(options)
        case .hostileCookies: return try HostileCookies.run(options)
        case .cacheFlow: return try CacheFlow.run(options)
        case .webSockets: return try WebSockets.run(options)
        case nil:
            // Each in its own process, so that the memory of one does not affect another.
            var isClean = true
            for proof in Options.Proof.allCases {
                let child = try ChildProcess([proof.rawValue] + arguments, readsOutput: false)
                isClean = child.wait() == "exit 0" && isClean
            }
            say(isClean ? "Nothing was found." : "FAILED")
            return isClean
        }
    }
}
