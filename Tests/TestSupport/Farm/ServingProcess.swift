internal import Foundation
internal import Glibc

/// A server process on a given loopback port.
final class ServingProcess: Sendable {
    struct StartFailure: Error, CustomStringConvertible {
        let description: String
    }

    enum Transport {
        case tcp
        case udp

        /// The kernel's socket tables.
        var tables: [String] { self == .tcp ? ["tcp", "tcp6"] : ["udp", "udp6"] }
        /// The state of a listening TCP socket or an unconnected UDP socket in these tables.
        var taking: String { self == .tcp ? "0A" : "07" }
    }

    let port: Int
    private let transport: Transport
    private let output: URL
    private let process: Watched<ChildProcess>
    private let start: @Sendable () throws -> ChildProcess

    /// Its output so far.
    var lines: [String] {
        ((try? String(contentsOf: output, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
    }

    /// Starts it. Returns when it accepts connections.
    ///
    /// - Parameters:
    ///   - wanted: The port, or nil for any free port.
    ///   - output: The file for its output.
    ///   - arguments: Returns the arguments for a port.
    init(
        _ executable: String, over transport: Transport = .tcp, at wanted: Int? = nil,
        environment: [String: String] = [:], output: URL,
        arguments: (Int) throws -> [String]
    ) throws {
        self.transport = transport
        self.output = output
        var failure: any Error = StartFailure(description: "there is no port")
        // Another process may take the port before the server does.
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

    func send(_ signal: Int32) { process.current.send(signal) }

    /// Restarts it on the same port.
    func restart(_ ending: ServerEnding) throws {
        end(ending)
        try waitForSilence()
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
            if try isTaken(port, for: transport) { return }
            if let exit = process.exit { throw StartFailure(description: "\(exit)") }
            if ContinuousClock.now > deadline { throw StartFailure(description: "silence") }
            usleep(10_000)
        }
    }

    /// The port of a killed process is released with a delay.
    private func waitForSilence() throws {
        let deadline = ContinuousClock.now + .testDeadline
        while try Self.isTaken(port, for: transport) {
            if ContinuousClock.now > deadline { throw StartFailure(description: "does not end") }
            usleep(1_000)
        }
    }

    /// Reads the kernel's tables, because the server would count a test connection as a client, and a datagram to an
    /// unused port does not always produce an error.
    private static func isTaken(_ port: Int, for transport: Transport) throws -> Bool {
        let digits = String(port, radix: 16, uppercase: true)
        let end = ":" + String(repeating: "0", count: max(4 - digits.count, 0)) + digits
        return try transport.tables.contains { name in
            // `String(contentsOf:)` reads one page of such a file.
            let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/thread-self/net/\(name)"))
            defer { try? file.close() }
            let table = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
            return table.split(separator: "\n").dropFirst().contains { line in
                let words = line.split(separator: " ").prefix(4)
                return words.count == 4 && words[1].hasSuffix(end) && words[3] == transport.taking
            }
        }
    }
}
