import CSimulation
import Foundation

/// FTP of an origin server (RFC 959, RFC 2428, RFC 3659), on one control connection. It has the files
/// /content/NUMBER/SIZE.
final class FTPEndpoint: Endpoint {
    private let server: OriginServer
    private let wire: any Wire
    private let address: simulation_address
    private let choices: Choices
    private var received: [UInt8] = []
    private var user: String?
    private var isLoggedIn = false
    private var folders: [String] = []
    private var isFinished = false
    private var transfer = Transfer()

    /// It begins when the client has asked for a file and has made the data connection.
    private struct Transfer {
        var data: DataEndpoint?
        var content: ArraySlice<UInt8>?
        var hasBegun = false
    }

    init(of server: OriginServer, on wire: any Wire, at address: simulation_address) {
        (self.server, self.wire, self.address) = (server, wire, address)
        choices = server.choices(for: OriginServer.Request(method: "FTP", target: ""))
        if server.happens(.refusal, choices) {
            reply(421, "there are too many")
            finish()
        } else {
            reply(220, server.name, isLong: choices.oneIn(3))
        }
    }

    func receive(_ bytes: [UInt8]) {
        received += bytes
        while !isFinished, let end = received.firstIndex(of: 10) {
            let line = received[..<end]
            received.removeFirst(end + 1)
            Law.require(line.last == 13, "a command of FTP ends with CRLF: \(Array(line))")
            let words = String(decoding: line.dropLast(), as: UTF8.self)
                .split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            answer(words[0], words.count > 1 ? words[1] : "")
        }
    }

    func end(isBroken: Bool) {
        isFinished = true
        transfer.data?.wire.finish()
    }

    private func finish() {
        isFinished = true
        wire.finish()
    }

    /// - Parameter isLong: It has several lines.
    private func reply(_ code: Int, _ text: String, isLong: Bool = false) {
        guard !isFinished else { return }
        let before = isLong ? "\(code)-welcome\r\n 999 files are here\r\n" : ""
        wire.write(Array("\(before)\(code) \(text)\r\n".utf8))
    }

    // MARK: commands

    private func answer(_ command: String, _ argument: String) {
        switch command {
        case "USER": logIn(argument)
        case "PASS": checkPassword(argument)
        case "QUIT":
            reply(221, "goodbye")
            finish()
        case _ where !isLoggedIn: Law.require(false, "a client of FTP logs in before \(command)")
        case "TYPE":
            Law.require(argument == "I", "a file is asked for as it is: \(argument)")
            reply(200, "as it is")
        case "CWD":
            folders.append(argument)
            reply(250, "in \(argument)")
        case "SIZE": if let content = content(argument) { reply(213, "\(content.count)") }
        case "MDTM": if content(argument) != nil { reply(213, "20260101000000") }
        case "EPSV" where choices.oneIn(3): reply(500, "EPSV is not known")
        case "EPSV": reply(229, "a port (|||\(openPort())|)")
        case "PASV":
            let port = openPort()
            // The address is not that of the server, as behind many a router.
            reply(227, "a port (192,168,0,1,\(port / 256),\(port % 256))")
        case "RETR": retrieve(argument)
        default: reply(502, "\(command) is not known")
        }
    }

    // MARK: The login

    private func logIn(_ name: String) {
        if server.needsLoginForFTP {
            let isOwn = name == "anonymous" || name == Password.user(of: server.name)
            Law.require(isOwn, "a user of FTP is that of the host: \(name)")
        } else {
            Law.require(name == "anonymous", "without a challenge the user is anonymous: \(name)")
        }
        user = name
        reply(331, "a password")
    }

    private func checkPassword(_ password: String) {
        if user == "anonymous" {
            isLoggedIn = !server.needsLoginForFTP
        } else {
            let right = Password.right("ftp", server.name), wrong = Password.wrong("ftp", server.name)
            Law.require([right, wrong].contains(password), "a password of FTP is for the host: \(password)")
            isLoggedIn = password == right
        }
        reply(isLoggedIn ? 230 : 530, isLoggedIn ? "welcome" : "not welcome")
    }

    // MARK: files

    private func content(_ name: String) -> [UInt8]? {
        guard folders.count == 2, folders[0] == "content", let number = Int(folders[1]), let size = Int(name) else {
            Law.require(false, "a file exists: \(folders) \(name)")
            return nil
        }
        return Content.bytes(number, 0..<size)
    }

    private func openPort() -> UInt16 {
        let port = server.nextPortForFTP()
        _ = Listener(address, port: port) { [self] wire in
            let data = DataEndpoint(on: wire) { [weak self] in self?.transfer.data = nil }
            transfer.data = data
            begin()
            return data
        }
        return port
    }

    private func retrieve(_ name: String) {
        guard let content = content(name) else { return }
        transfer.content = content[...]
        begin()
    }

    private func begin() {
        guard let data = transfer.data, let content = transfer.content, !transfer.hasBegun else { return }
        transfer.hasBegun = true
        reply(150, "\(content.count) octets")
        func part() -> [UInt8] { Array(content.prefix(choices.below(content.count + 1))) }
        if server.happens(.reset, choices) {
            data.wire.write(part())
            data.wire.reset()
            return choices.oneIn(2) ? reply(426, "the connection is lost") : wire.reset()
        }
        if server.happens(.truncation, choices) {
            data.wire.write(part())
            data.wire.finish()
            return choices.oneIn(2) ? reply(451, "the file cannot be read") : finish()
        }
        if server.happens(.silence, choices) { return data.wire.write(part()) }
        send(content, on: data, isSlow: server.happens(.slowness, choices))
    }

    private func send(_ rest: ArraySlice<UInt8>, on data: DataEndpoint, isSlow: Bool) {
        guard !isFinished else { return }
        if isSlow, rest.count > 1 {
            let part = rest.prefix(1 + choices.below(rest.count))
            data.wire.write(Array(part))
            return Later.after(choices.seconds(3)) { [self] in
                send(rest.dropFirst(part.count), on: data, isSlow: true)
            }
        }
        data.wire.write(Array(rest))
        // The reply may overtake the octets: it is on another connection.
        if choices.oneIn(2) {
            reply(226, "that is all")
            data.wire.finish()
        } else {
            data.wire.finish()
            reply(226, "that is all")
        }
    }
}

/// The server's side of a data connection.
private final class DataEndpoint: Endpoint {
    let wire: any Wire
    private let hasEnded: () -> Void

    init(on wire: any Wire, hasEnded: @escaping () -> Void) { (self.wire, self.hasEnded) = (wire, hasEnded) }

    func receive(_ bytes: [UInt8]) { Law.require(false, "a client that gets a file sends none: \(bytes.count) octets") }
    func end(isBroken: Bool) { hasEnded() }
}
