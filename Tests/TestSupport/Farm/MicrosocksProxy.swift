internal import Foundation

/// microsocks, a SOCKS 5 proxy with one user.
package final class MicrosocksProxy: Sendable {
    package static let user = "Mufasa"
    package static let password = "Circle of Life"

    private let process: ServingProcess
    private let directory: TemporaryDirectory

    /// Starts microsocks. Returns when it accepts connections.
    package init() throws {
        directory = try TemporaryDirectory()
        process = try ServingProcess(
            try ServerFarm.Part.microsocks.requireExecutable(), output: directory.file("output")
        ) { port in
            ["-i", "127.0.0.1", "-p", "\(port)", "-u", Self.user, "-P", Self.password]
        }
    }

    package var port: Int { process.port }

    /// Its log, with a line for each connection that it has made.
    package var log: [String] { process.lines }

    package func stop() { process.end() }
}
