import Foundation
import TestSupport
import URLLoading

/// The servers and files of all scenarios. The path of a request identifies its run: `/body/17`.
final class ScenarioServers: Sendable {
    /// The bodies of responses.
    static let body = letters(40_000)
    /// The bodies of uploads: larger than what is sent with the head.
    static let upload = letters(100_000)
    static let credential = URLCredential(user: "user", password: "secret", persistence: .none)
    private static let authorization = "Basic dXNlcjpzZWNyZXQ="

    let plain: ScriptedServer
    /// A server with an untrusted certificate.
    let secure: ScriptedServer
    /// The user identifies the run of a connection: `u17`.
    let ftp: FTPServer
    let runs: Watched<[Int: ScenarioRun]>
    let session = URLSession { _ in }
    private let folder: TemporaryDirectory
    let file: URL

    init() throws {
        // A server outlives no site, but its scripts may: they share the list, not the site.
        let runs = Watched<[Int: ScenarioRun]>([:])
        self.runs = runs
        _ = try TrustedAuthority.authority
        plain = try ScriptedServer { try Self.serve($0, runs) }
        secure = try ScriptedServer(tls: TLSServerOptions(TestIdentity.selfSigned(.localhost))) {
            try Self.serve($0, runs)
        }
        ftp = try Self.ftpServer(runs)
        folder = try TemporaryDirectory()
        file = try folder.write(Self.upload, to: "upload")
    }

    func close() {
        session.invalidateAndCancel()
        plain.stop()
        secure.stop()
        ftp.stop()
    }

    private static func letters(_ count: Int) -> [UInt8] { (0..<count).map { 97 + UInt8($0 % 26) } }

    // MARK: The server

    private static func serve(_ connection: ServerConnection, _ runs: Watched<[Int: ScenarioRun]>) throws {
        while true {
            let request = try connection.readRequestHead()
            let parts = request.path.split(separator: "/")
            let run = parts.last.flatMap { Int($0) }.flatMap { runs.current[$0] }
            try run?.serverReached("request")
            try readBody(of: request, connection) { try run?.serverReached("half received") }
            guard try answer(String(parts.first ?? ""), request, connection, { try run?.serverReached($0) }) else {
                return
            }
        }
    }

    private static func ftpServer(_ runs: Watched<[Int: ScenarioRun]>) throws -> FTPServer {
        let users = Watched<[Int: Int]>([:])
        var options = FTPServer.Options()
        options.files = ["/body": body]
        options.scriptedReply = { command in
            switch command.verb {
            case "", "QUIT": return nil
            case "USER": users.withValue { $0[command.connection] = Int(command.argument.dropFirst()) }
            default: break
            }
            let run = users.current[command.connection].flatMap { runs.current[$0] }
            do { try run?.serverReached("request") } catch { return .close }
            guard command.verb == "PASS" else { return nil }
            return .line(command.argument == credential.password ? "230 Come in" : "530 Who are you?")
        }
        return try FTPServer(options)
    }

    private static func readBody(
        of request: ReceivedRequest, _ connection: ServerConnection, _ half: () throws -> Void
    ) throws {
        if let length = request["Content-Length"].flatMap({ Int($0) }), length > 0 {
            _ = try connection.receive(exactly: length / 2)
            try half()
            _ = try connection.receive(exactly: length - length / 2)
        } else if request["Transfer-Encoding"] != nil {
            var isHalf = false
            var tail: [UInt8] = []
            var count = 0
            while tail != Array("0\r\n\r\n".utf8) {
                let bytes = try connection.receive()
                guard !bytes.isEmpty else { throw CancellationError() }
                count += bytes.count
                tail = (tail + bytes.suffix(5)).suffix(5)
                if count >= upload.count / 2, !isHalf {
                    isHalf = true
                    try half()
                }
            }
        }
    }

    /// Sends the response with this name; false if the connection must not be reused.
    private static func answer(
        _ name: String, _ request: ReceivedRequest, _ connection: ServerConnection, _ reached: (String) throws -> Void
    ) throws -> Bool {
        func send(_ head: String, _ body: [UInt8]) throws {
            try connection.send("HTTP/1.1 \(head)\r\nContent-Length: \(body.count)\r\n\r\n")
            try reached("head sent")
            try connection.send(Array(body[..<(body.count / 2)]))
            try reached("half sent")
            try connection.send(Array(body[(body.count / 2)...]))
        }
        let number = request.path.split(separator: "/").last ?? ""
        switch name {
        case "hints":
            try connection.send("HTTP/1.1 103 Early Hints\r\n\r\n")
            try send("200 OK", body)
        case "short": try send("200 OK", Array(body.prefix(1000)))
        case "found": try send("302 Found\r\nLocation: /temporary/\(number)", Array("moved".utf8))
        case "temporary": try send("307 Temporary Redirect\r\nLocation: /body/\(number)", [])
        case "challenge" where request["Authorization"] != authorization:
            try send("401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"", Array("who are you?".utf8))
        case "switch":
            try connection.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
            try reached("switched")
            let bytes = try connection.receive(exactly: 4)
            try reached("received")
            try connection.send(bytes)
            try connection.waitForClose()
            return false
        case "parts":
            let part = "--cut\r\nContent-Type: text/plain\r\n\r\npart\r\n"
            try send(
                "200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=cut",
                Array((part + part + "--cut--\r\n").utf8))
        case "rest":
            let validator = "ETag: \"v1\"\r\nAccept-Ranges: bytes\r\n"
            guard let start = request["Range"]?.dropFirst(6).dropLast(), let start = Int(start), start < body.count
            else {
                try connection.send("HTTP/1.1 200 OK\r\n\(validator)Content-Length: \(body.count)\r\n\r\n")
                try connection.send(Array(body[..<(body.count / 2)]))
                connection.close()
                return false
            }
            let range = "Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)"
            try send("206 Partial Content\r\n\(validator)\(range)", Array(body[start...]))
        default: try send("200 OK", body)
        }
        return true
    }
}
