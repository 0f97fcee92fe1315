import Foundation
import Glibc
import TestSupport
import Testing

/// The file that `SSLKEYLOGFILE` names, with the program of `Tests/SessionUser`.
@Suite(.leavesNothing) struct TLSKeyLogTests {
    private let directory: TemporaryDirectory
    private let file: URL

    init() throws {
        directory = try TemporaryDirectory()
        file = directory.file("keys")
    }

    /// A line of the file. Of the secret, it has the length only.
    private struct Line: Hashable {
        let label: String
        let random: String
        let secretLength: Int
    }

    private static let labels = [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET", "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0", "EXPORTER_SECRET",
    ]

    private func run(_ arguments: String..., writingTo path: String? = nil) throws -> [String] {
        try SessionUser().run(["ephemeral"] + arguments, environment: ["SSLKEYLOGFILE": path ?? file.path])
    }

    private func text(_ file: URL? = nil) throws -> String {
        String(decoding: try Data(contentsOf: file ?? self.file), as: UTF8.self)
    }

    private func lines(_ text: String) -> [Line] {
        text.split(separator: "\n").map { line in
            let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            guard words.count == 3, words[2].allSatisfy(\.isHexDigit) else {
                return Line(label: String(line), random: "", secretLength: 0)
            }
            return Line(label: words[0], random: words[1], secretLength: words[2].count / 2)
        }
    }

    private func random(of connection: ConnectionRecord) -> String {
        let bytes = connection.clientHello?.random ?? []
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private var mode: Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        return (attributes?[.posixPermissions] as? NSNumber)?.intValue
    }

    // TLS-12
    @Test("each connection appends its secrets", arguments: [TLSServerOptions.Version.tls12, .tls13])
    func secrets(version: TLSServerOptions.Version) throws {
        let options = try TrustedAuthority.server().with {
            $0.minimumVersion = version
            $0.maximumVersion = version
        }
        let server = try ScriptedServer.answering(.text("x"), tls: options)
        defer { server.stop() }
        let labels = version == .tls12 ? ["CLIENT_RANDOM"] : Self.labels
        // A master secret; those of TLS 1.3 are as long as the hash of the suite, SHA-256.
        let length = version == .tls12 ? 48 : 32
        #expect(try run(server.url().absoluteString) == ["200 x"])
        #expect(mode == 0o600)
        let first = try text()
        // The mode of a file that exists stays.
        #expect(chmod(file.path, 0o640) == 0)
        #expect(try run(server.url().absoluteString) == ["200 x"])
        #expect(mode == 0o640)
        let all = try text()
        #expect(all.hasPrefix(first))
        #expect(server.connectionCount == 2)
        for (connection, text) in zip(server.connections, [first, String(all.dropFirst(first.count))]) {
            let random = random(of: connection)
            #expect(
                lines(text).sorted { $0.label < $1.label }
                    == labels.sorted().map { Line(label: $0, random: random, secretLength: length) })
        }
    }

    // TLS-12: the server's file is the proof
    @Test("HTTP/3 has the secrets that the server has", .needsHTTP3, .needs(.gtlsserver)) func http3() throws {
        let serverFile = directory.file("server-keys")
        let server = try GtlsServer(
            files: ["x": Array("x".utf8)], authority: TrustedAuthority.authority,
            environment: ["SSLKEYLOGFILE": serverFile.path])
        defer { server.stop() }
        let address = "https://127.0.0.1:\(server.port)/x"
        #expect(try run("without-keys", "http3", address) == ["200 x"])
        #expect(mode == nil)
        let before = try text(serverFile)
        #expect(try run("http3", address) == ["200 x"])
        #expect(mode == 0o600)
        let client = try text()
        #expect(lines(client).map(\.label).sorted() == Self.labels.sorted())
        // The server ends its lines with a space.
        let expected = try text(serverFile).dropFirst(before.count).replacing(" \n", with: "\n")
        #expect(client.split(separator: "\n").sorted() == expected.split(separator: "\n").sorted())
    }

    // TLS-12
    @Test("a program that disables the log writes none") func off() throws {
        let server = try ScriptedServer.answering(.text("x"), tls: TrustedAuthority.server())
        defer { server.stop() }
        #expect(try run("without-keys", server.url().absoluteString) == ["200 x"])
        #expect(mode == nil)
    }

    // TLS-12: the owner of the file could read the keys
    @Test("a file of another user gets none", .enabled(if: geteuid() == 0, "needs root"), arguments: [false, true])
    func foreign(isPipe: Bool) throws {
        let server = try ScriptedServer.answering(.text("x"), tls: TrustedAuthority.server())
        defer { server.stop() }
        var reader: Int32 = -1
        if isPipe {
            #expect(mkfifo(file.path, 0o666) == 0)
            reader = open(file.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        } else {
            try Data().write(to: file)
        }
        defer { if reader >= 0 { close(reader) } }
        #expect(chown(file.path, 65_534, 65_534) == 0)
        #expect(
            try run(server.url().absoluteString) == [
                "URLLoading: SSLKEYLOGFILE: \(file.path): The file belongs to another user. No TLS keys are written.",
                "200 x",
            ])
        if isPipe {
            var byte: UInt8 = 0
            #expect(read(reader, &byte, 1) == 0)
        } else {
            #expect(try text().isEmpty)
        }
    }

    // TLS-12: it could lead to any file of this user
    @Test("a link of another user is not followed", .enabled(if: geteuid() == 0, "needs root"))
    func foreignLink() throws {
        let server = try ScriptedServer.answering(.text("x"), tls: TrustedAuthority.server())
        defer { server.stop() }
        try Data().write(to: file)
        let link = directory.file("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: file)
        #expect(try run(server.url().absoluteString, writingTo: link.path) == ["200 x"])
        let own = try text()
        #expect(lines(own).map(\.label).sorted() == Self.labels.sorted())
        #expect(lchown(link.path, 65_534, 65_534) == 0)
        #expect(
            try run(server.url().absoluteString, writingTo: link.path) == [
                "URLLoading: SSLKEYLOGFILE: \(link.path): The link belongs to another user. No TLS keys are written.",
                "200 x",
            ])
        #expect(try text() == own)
    }

    // TLS-12
    @Test("an empty variable names no file") func empty() throws {
        let server = try ScriptedServer.answering(.text("x"), tls: TrustedAuthority.server())
        defer { server.stop() }
        #expect(try run(server.url().absoluteString, writingTo: "") == ["200 x"])
    }

    // TLS-12
    @Test(
        "a file that cannot be opened is reported once",
        arguments: [
            ("none/keys", "No such file or directory"), ("", "Is a directory"), ("pipe", "No such device or address"),
        ]) func unusable(name: String, reason: String) throws
    {
        let servers = try (0..<2).map { _ in
            try ScriptedServer.answering(.text("x"), tls: TrustedAuthority.server())
        }
        defer { for server in servers { server.stop() } }
        // It has no reader.
        #expect(mkfifo(directory.file("pipe").path, 0o600) == 0)
        let path = name.isEmpty ? directory.path : directory.path + "/" + name
        let addresses = servers.map { $0.url().absoluteString }
        #expect(
            try run(addresses[0], addresses[1], writingTo: path) == [
                "URLLoading: SSLKEYLOGFILE: \(path): \(reason). No TLS keys are written.", "200 x", "200 x",
            ])
    }
}
