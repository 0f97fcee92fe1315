internal import CTestTLS
package import Foundation
internal import Glibc

/// An FTP server on loopback that serves files from memory. A test can override its replies.
///
///     var options = FTPServer.Options()
///     options.files = ["/a.txt": Array("hello".utf8)]
///     options.scriptedReply = { $0.verb == "EPSV" ? .line("500 no") : nil }
///     let server = try FTPServer(options)
///     defer { server.stop() }
package final class FTPServer: Sendable {
    package struct Options: Sendable {
        package var addresses = [Loopback.ipv4]
        /// Contents by absolute path.
        package var files: [String: [UInt8]] = [:]
        package var modificationTime = "20260102030405"
        /// Passwords by user. `anonymous` accepts any password.
        package var users = ["anonymous": ""]
        /// The address in the reply to `PASV`, possibly wrong.
        package var passiveAddress = "127,0,0,1"
        /// Overrides the default behaviour for a command. The command `""` is the greeting.
        package var scriptedReply: @Sendable (Command) -> Reply? = { _ in nil }

        package init() {}
    }

    package struct Command: Sendable, Equatable, CustomStringConvertible {
        /// The index in order of acceptance.
        package let connection: Int
        package let verb: String
        package let argument: String

        package var description: String { argument.isEmpty ? verb : "\(verb) \(argument)" }
    }

    package enum Reply: Sendable {
        /// Sends this line.
        case line(String)
        case close
        case reset
        /// Sends nothing, and keeps the connection open.
        case noReply
        /// Sends this line endlessly.
        case endlessLines(String)
        /// Sends a part of the content, then this reply.
        case cut(Int, String)
        /// Sends a part of the content, then resets the data connection.
        case resetData(Int)
        /// Sends a part of the content, then stalls both connections.
        case stall(Int)
        /// Sends a part of the content, then this line endlessly, with both connections open.
        case endlessLinesAfter(Int, String)
        /// Serves this content.
        case serve([UInt8])
    }

    private let server: ScriptedServer
    private let state: Watched<State>

    fileprivate struct State {
        var commands: [Command] = []
        var dataRecords: [ConnectionRecord] = []
    }

    package init(_ options: Options = Options()) throws {
        let state = Watched(State())
        self.state = state
        var server = ScriptedServer.Options()
        server.addresses = options.addresses
        self.server = try ScriptedServer(server) { connection in
            do {
                try FTPServerSession(connection, options, state).run()
            } catch is ConnectionEnded {
            } catch let failure as POSIXFailure where failure.code == ECONNRESET || failure.code == EPIPE {
            }
        }
    }

    package func stop() { server.stop() }

    package var port: Int { server.port }
    /// Control connections.
    package var connectionCount: Int { server.connectionCount }
    package var connections: [ConnectionRecord] { server.connections }
    package var failures: [any Error] { server.failures }

    /// - Parameter user: The user information of the URL.
    package func url(_ path: String = "/", user: String? = nil, host: String = "127.0.0.1") -> URL {
        URL(string: "ftp://\(user.map { $0 + "@" } ?? "")\(host):\(port)\(path)") ?? URL(fileURLWithPath: "/")
    }

    /// The commands of all control connections, in order.
    package var commands: [String] { state.current.commands.map(\.description) }
    package func commands(on connection: Int) -> [String] {
        state.current.commands.filter { $0.connection == connection }.map(\.description)
    }

    /// Waits for a data connection with data.
    package func dataConnection(_ index: Int) async throws -> ConnectionRecord {
        try await state.wait(for: "data connection \(index)") {
            $0.dataRecords.count > index ? $0.dataRecords[index] : nil
        }
    }

    /// Waits for a command with that verb.
    package func command(_ verb: String) async throws {
        try await state.wait(for: verb) { state in state.commands.contains { $0.verb == verb } ? true : nil }
    }
}

/// One control connection.
private final class FTPServerSession {
    private let connection: ServerConnection
    private let options: FTPServer.Options
    private let state: Watched<FTPServer.State>
    private var user = ""
    private var directory = "/"
    private var offset = 0
    private var listener: BoundSocket?

    init(_ connection: ServerConnection, _ options: FTPServer.Options, _ state: Watched<FTPServer.State>) {
        self.connection = connection
        self.options = options
        self.state = state
    }

    func run() throws {
        guard try perform(FTPServer.Command(connection: connection.index, verb: "", argument: "")) else { return }
        while true {
            let line = String(decoding: try connection.receive(through: "\r\n").dropLast(2), as: UTF8.self)
            let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let command = FTPServer.Command(
                connection: connection.index, verb: parts[0], argument: parts.count > 1 ? parts[1] : "")
            state.withValue { $0.commands.append(command) }
            guard try perform(command) else { return }
        }
    }

    /// False if the connection has ended.
    private func perform(_ command: FTPServer.Command) throws -> Bool {
        switch options.scriptedReply(command) {
        case nil: return try answer(command)
        case .line(let text): try say(text)
        case .close: return false
        case .reset:
            connection.reset()
            return false
        case .noReply: try connection.stopReading()
        case .endlessLines(let text): while true { try say(text) }
        case .cut(let count, let reply):
            let data = try begin()
            try data.send(Array(content(of: command).prefix(count)))
            data.close()
            try say(reply)
        case .resetData(let count):
            let data = try begin()
            try data.send(Array(content(of: command).prefix(count)))
            data.reset()
        case .stall(let count):
            let data = try begin()
            try data.send(Array(content(of: command).prefix(count)))
            try connection.waitForClose()
            data.close()
            return false
        case .endlessLinesAfter(let count, let text):
            let data = try begin()
            defer { data.close() }
            try data.send(Array(content(of: command).prefix(count)))
            let lines = String(repeating: text + "\r\n", count: 10_000)
            while true { try connection.send(lines) }
        case .serve(let content): try transfer(content)
        }
        return true
    }

    private func say(_ text: String) throws { try connection.send(text + "\r\n") }

    private func path(_ name: String) -> String {
        if name.hasPrefix("/") { return name }
        return directory == "/" ? "/" + name : directory + "/" + name
    }

    private func isDirectory(_ path: String) -> Bool {
        let prefix = path.hasSuffix("/") ? path : path + "/"
        return path == "/" || options.files.keys.contains { $0.hasPrefix(prefix) }
    }

    private func answer(_ command: FTPServer.Command) throws -> Bool {
        let file = options.files[path(command.argument)]
        switch command.verb {
        case "": try say("220-Welcome\r\n 220 to this\r\n220 server")
        case "USER":
            user = command.argument
            try say("331 And the password?")
        case "PASS":
            let isKnown = options.users[user].map { user == "anonymous" || $0 == command.argument } ?? false
            try say(isKnown ? "230 Come in" : "530 Login incorrect")
        case "TYPE": try say("200 So be it")
        case "CWD":
            let new = path(command.argument)
            if isDirectory(new) { directory = new }
            try say(isDirectory(new) ? "250 You are there" : "550 No such directory")
        case "SIZE": try say(file.map { "213 \($0.count)" } ?? "550 No such file")
        case "MDTM": try say(file == nil ? "550 No such file" : "213 \(options.modificationTime)")
        case "EPSV":
            let port = try listen()
            try say("229 Entering Extended Passive Mode (|||\(port)|)")
        case "PASV":
            let port = try listen()
            try say("227 Entering Passive Mode (\(options.passiveAddress),\(port / 256),\(port % 256))")
        case "REST":
            offset = Int(command.argument) ?? 0
            try say("350 From there")
        case "RETR":
            if let file {
                try transfer(Array(file.dropFirst(offset)))
            } else {
                try say("550 Failed to open file.")
            }
        case "LIST", "NLST": try transfer(content(of: command))
        case "QUIT":
            try say("221 Goodbye")
            return false
        default: try say("502 Not known")
        }
        return true
    }

    /// Performs a command.
    private func content(of command: FTPServer.Command) -> [UInt8] {
        if command.verb == "RETR" { return Array((options.files[path(command.argument)] ?? []).dropFirst(offset)) }
        let prefix = directory == "/" ? "/" : directory + "/"
        let names = Set(
            options.files.keys.filter { $0.hasPrefix(prefix) }.map { path in
                String(path.dropFirst(prefix.count).prefix { $0 != "/" })
            }
        ).sorted()
        let lines = names.map { command.verb == "LIST" ? "-rw-r--r-- 1 ftp ftp 1 Jan 02 2026 \($0)" : $0 }
        return Array(lines.map { $0 + "\r\n" }.joined().utf8)
    }

    // MARK: Data

    private func listen() throws -> Int {
        let address: Loopback = options.addresses.first ?? .ipv4
        let socket = try BoundSocket(address)
        try socket.listen(backlog: 1)
        listener = socket
        return socket.port
    }

    private func transfer(_ content: [UInt8]) throws {
        let data = try begin()
        try data.send(content)
        data.close()
        try say("226 Transfer complete")
    }

    private func begin() throws -> ServerConnection {
        try say("150 Here it comes")
        guard let listener else { throw POSIXFailure("accept", code: ENOTCONN) }
        self.listener = nil
        var polled = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
        let wait = Int32(connection.deadline / .milliseconds(1))
        guard poll(&polled, 1, wait) == 1 else { throw POSIXFailure("accept", code: ETIMEDOUT) }
        let descriptor = ctt_accept(listener.descriptor)
        guard descriptor >= 0 else { throw POSIXFailure("accept") }
        let data = try ServerConnection(adopting: descriptor)
        state.withValue { $0.dataRecords.append(data.record) }
        return data
    }
}
