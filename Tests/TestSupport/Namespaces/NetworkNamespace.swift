internal import Foundation

/// An isolated network for a test, in which no interface is up, not even loopback. A network namespace belongs to a
/// whole process, so such a test runs in another process of this program; see `NetworkNamespaceTrait`.
package enum NetworkNamespace {
    private static let marker = "TEST_NETWORK_NAMESPACE"

    /// Whether this process runs in its own network namespace.
    package static var isInside: Bool { ProcessInfo.processInfo.environment[marker] != nil }

    /// Whether this process may create one: as root, or with unprivileged user namespaces.
    package static var isAvailable: Bool { isInside || unsharing != nil }

    /// The options of `unshare` that work here.
    private static let unsharing: [String]? = {
        guard let unshare = path(of: "unshare"), let ip = path(of: "ip") else { return nil }
        return [["--user", "--map-root-user", "--net"], ["--net"]].map { [unshare] + $0 }.first { command in
            let words = Array(command.dropFirst()) + [ip, "link", "set", "lo", "up"]
            return (try? ChildProcess.run(unshare, words).exit) == .code(0)
        }
    }()

    private static func path(of program: String) -> String? {
        ["/usr/bin/", "/usr/sbin/", "/bin/", "/sbin/"].map { $0 + program }.first { access($0, X_OK) == 0 }
    }

    /// Runs one test of this program in a new network namespace, and returns its output.
    static func run(
        testMatching pattern: String, within deadline: Duration
    ) throws -> (exit: ChildProcess.Exit, output: String) {
        guard let unsharing, let unshare = unsharing.first else { throw NoNetworkNamespace() }
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let words = [
            program, "--testing-library", "swift-testing", "--no-parallel", "--filter", pattern,
        ]
        return try ChildProcess.run(
            unshare, Array(unsharing.dropFirst()) + words, environment: [marker: "1"], within: deadline)
    }

    // MARK: Inside

    /// Runs iproute2's `ip`: `ip("link", "set", "lo", "up")`.
    package static func ip(_ words: String...) throws { try ip(words) }

    package static func ip(_ words: [String]) throws {
        // Never change the machine's own network.
        guard isInside, let program = path(of: "ip") else { throw NoNetworkNamespace() }
        let (exit, output) = try ChildProcess.run(program, words)
        guard exit == .code(0) else {
            throw FailedCommand(command: "ip \(words.joined(separator: " "))", output: output)
        }
    }

    /// Limits the output rate of an interface in bits per second, with a queue limit in bytes.
    package static func limit(_ interface: String, bitsPerSecond: Int, queue: Int) throws {
        guard isInside, let program = path(of: "tc") else { throw NoNetworkNamespace() }
        let words = [
            "qdisc", "add", "dev", interface, "root", "tbf", "rate", "\(bitsPerSecond)bit", "burst", "5kb", "limit",
            "\(queue)",
        ]
        let (exit, output) = try ChildProcess.run(program, words)
        guard exit == .code(0) else {
            throw FailedCommand(command: "tc \(words.joined(separator: " "))", output: output)
        }
    }

    package static func raiseLoopback() throws { try ip("link", "set", "lo", "up") }

    package static func lowerLoopback() throws {
        try ip("link", "set", "lo", "down")
        // With its address there would still be a route. It gets the address back when it is up again.
        try ip("address", "flush", "dev", "lo")
    }

    /// Adds an interface with a default route, of any kind that the kernel supports.
    package static func addWayOut() throws {
        try addInterface()
        try ip("route", "add", "default", "dev", "out")
    }

    /// Adds the interface `out` with 10.0.0.1/24 and a route to that network only.
    package static func addInterface() throws {
        var failure: any Error = NoNetworkNamespace()
        for kind in ["dummy", "bridge", "veth"] {
            do {
                try ip("link", "add", "out", "type", kind)
                try ip("address", "add", "10.0.0.1/24", "dev", "out")
                return try ip("link", "set", "out", "up")
            } catch {
                failure = error
            }
        }
        throw failure
    }
}

/// This process does not run in its own network namespace.
package struct NoNetworkNamespace: Error {}

package struct FailedCommand: Error, CustomStringConvertible {
    package let command: String
    package let output: String

    package var description: String { "\(command): \(output)" }
}
