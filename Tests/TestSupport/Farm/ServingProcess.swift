internal import Foundation
internal import Glibc

/// A server as a process that was told which port of loopback to take, and has taken it.
final class ServingProcess: Sendable {
    struct StartFailure: Error, CustomStringConvertible {
        let description: String
    }

    enum Transport {
        case tcp
        case udp
    }

    let port: Int
    private let transport: Transport
    private let output: URL
    private let process: Watched<ChildProcess>
    private let start: @Sendable () throws -> ChildProcess

    /// What it has said so far.
    var lines: [String] {
        ((try? String(contentsOf: output, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    /// Starts it, and returns when it takes connections.
    ///
    /// - Parameters:
    ///   - wanted: The port, if it has to be a certain one.
    ///   - output: The file for what it says.
    ///   - arguments: Given the port.
    init(
        _ executable: String, over transport: Transport = .tcp, at wanted: Int? = nil,
        environment: [String: String] = [:], output: URL,
        arguments: (Int) throws -> [String]
    ) throws {
        self.transport = transport
        self.output = output
        var failure: any Error = StartFailure(description: "there is no port")
        // Somebody else may take the port before the server does.
        for _ in 0..<5 {
            let port = try wanted ?? Self.freePort(for: transport)
            let arguments = try arguments(port)
            let start: @Sendable () throws -> ChildProcess = {
                let process = try ChildProcess(
                    executable, arguments, environment: environment, leadsGroup: true, output: output)
                do {
                    try Self.waitForPort(port, over: transport, of: process)
                    return process
                } catch {
                    process.end()
                    let words = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
                    throw StartFailure(description: "\(executable) does not answer: \(error); it says: \(words)")
                }
            }
            do {
                process = Watched(try start())
                self.port = port
                self.start = start
                return
            } catch {
                failure = error
            }
        }
        throw failure
    }

    deinit { end() }

    func end(_ ending: ServerEnding = .orderly) {
        switch ending {
        case .orderly: process.current.end()
        case .abrupt: process.current.endAbruptly()
        }
    }

    /// Ends it, and starts it again on the same port.
    ///
    /// - Parameter log: What it writes.
    func restart(_ ending: ServerEnding, log: ServerLog? = nil) throws {
        end(ending)
        if transport == .tcp { try Self.waitForSilence(port) }
        try log?.lifeEnded()
        let next = try start()
        process.withValue { $0 = next }
    }

    // MARK: Ports

    private static func freePort(for transport: Transport) throws -> Int {
        switch transport {
        case .tcp: return try BoundSocket(.ipv4).port
        case .udp:
            let descriptor = try datagramSocket()
            defer { close(descriptor) }
            guard Loopback.ipv4.withAddress(port: 0, { bind(descriptor, $0, $1) }) == 0 else {
                throw POSIXFailure("bind")
            }
            return Loopback.port(of: descriptor) { getsockname($0, $1, $2) }
        }
    }

    private static func datagramSocket() throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure("socket") }
        return descriptor
    }

    private static func waitForPort(_ port: Int, over transport: Transport, of process: ChildProcess) throws {
        let deadline = ContinuousClock.now + .testDeadline
        while true {
            switch transport {
            case .tcp: if try isTaken(port) { return }
            case .udp: if try isTakenForDatagrams(port) { return }
            }
            if let exit = process.exit { throw StartFailure(description: "\(exit)") }
            if ContinuousClock.now > deadline { throw StartFailure(description: "silence") }
            usleep(10_000)
        }
    }

    /// A process that was killed leaves its port a moment before or after it is gone.
    private static func waitForSilence(_ port: Int) throws {
        let deadline = ContinuousClock.now + .testDeadline
        while try isTaken(port) {
            if ContinuousClock.now > deadline { throw StartFailure(description: "does not end") }
            usleep(1_000)
        }
    }

    private static func isTaken(_ port: Int) throws -> Bool {
        let descriptor = try Loopback.ipv4.makeSocket()
        defer { close(descriptor) }
        return Loopback.ipv4.withAddress(port: port, { connect(descriptor, $0, $1) }) == 0
    }

    /// A datagram to a port that nobody has is answered with an error, but not always, so the kernel is asked for its table.
    private static func isTakenForDatagrams(_ port: Int) throws -> Bool {
        let table = try String(contentsOf: URL(filePath: "/proc/thread-self/net/udp"), encoding: .utf8)
        let digits = String(port, radix: 16, uppercase: true)
        let end = ":" + String(repeating: "0", count: max(4 - digits.count, 0)) + digits
        return table.split(separator: "\n").dropFirst().contains { line in
            line.split(separator: " ").dropFirst().first?.hasSuffix(end) ?? false
        }
    }
}
