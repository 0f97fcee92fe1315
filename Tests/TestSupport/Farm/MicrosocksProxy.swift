internal import Foundation

/// microsocks, a SOCKS5 proxy that lets one user through.
package final class MicrosocksProxy: Sendable {
    package static let user = "Mufasa"
    package static let password = "Circle of Life"

    private let process: ServingProcess
    private let directory: TemporaryDirectory

    /// Starts microsocks, and returns when it takes connections.
    package init() throws {
        directory = try TemporaryDirectory()
        process = try ServingProcess(
            try ServerFarm.Part.microsocks.requireExecutable(), output: directory.file("output")
        ) { port in
            ["-i", "127.0.0.1", "-p", "\(port)", "-u", Self.user, "-P", Self.password]
        }
    }

    package var port: Int { process.port }

    /// What it has done, a line for each connection that it has made among them.
    package var log: [String] { process.lines }

    package func stop() { process.end() }
}
