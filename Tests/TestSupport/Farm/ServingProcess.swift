internal import Foundation
internal import Glibc

/// A server as a process that was told which port of loopback to take, and has taken it.
final class ServingProcess: Sendable {
    struct StartFailure: Error, CustomStringConvertible {
        let description: String
    }

    let port: Int
    private let process: ChildProcess

    /// Starts it, and returns when it takes connections.
    ///
    /// - Parameters:
    ///   - output: The file for what it says.
    ///   - arguments: Given the port.
    init(
        _ executable: String, environment: [String: String] = [:], output: URL, arguments: (Int) throws -> [String]
    ) throws {
        var failure: any Error = StartFailure(description: "there is no port")
        // Somebody else may take the port before the server does.
        for _ in 0..<5 {
            let port = try BoundSocket(.ipv4).port
            let process = try ChildProcess(
                executable, try arguments(port), environment: environment, output: output)
            do {
                try Self.waitForPort(port, of: process)
                self.port = port
                self.process = process
                return
            } catch {
                process.end()
                let words = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
                failure = StartFailure(description: "\(executable) does not answer: \(error); it says: \(words)")
            }
        }
        throw failure
    }

    deinit { end() }

    func end() { process.end() }

    private static func waitForPort(_ port: Int, of process: ChildProcess) throws {
        let deadline = ContinuousClock.now + .testDeadline
        while true {
            let descriptor = try Loopback.ipv4.makeSocket()
            defer { close(descriptor) }
            if Loopback.ipv4.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0 { return }
            if let exit = process.exit { throw StartFailure(description: "\(exit)") }
            if ContinuousClock.now > deadline { throw StartFailure(description: "silence") }
            usleep(10_000)
        }
    }
}
