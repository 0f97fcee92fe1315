internal import Foundation
internal import Glibc

/// dante, a SOCKS 4 and 5 proxy without authentication.
package final class DanteProxy: Sendable {
    private let process: ServingProcess
    private let directory: TemporaryDirectory

    /// Starts dante. Returns when it accepts connections.
    package init() throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        if geteuid() == 0 { chmod(directory.path, 0o777) }
        process = try ServingProcess(
            try ServerFarm.Part.danted.requireExecutable(), output: directory.file("output")
        ) { port in
            let configuration = try directory.write(
                """
                logoutput: stderr
                internal: 127.0.0.1 port = \(port)
                external: lo
                clientmethod: none
                socksmethod: none
                user.privileged: root
                user.unprivileged: nobody
                client pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }
                socks pass { from: 0.0.0.0/0 to: 0.0.0.0/0 log: connect }

                """, to: "danted.conf")
            return ["-N", "1", "-f", configuration.path, "-p", directory.file("danted.pid").path]
        }
    }

    package var port: Int { process.port }

    /// Its log, with a line for each connection that it has made.
    package var log: [String] { process.lines }

    package func stop() { process.end() }
}
