import Foundation
import TestSupport
import Testing

/// A program that cannot load some libraries, because other files with their names are found first.
@Suite(.leavesNothing) struct MissingLibraryTests {
    private func run(without names: [String], _ addresses: URL...) throws -> [String] {
        try run(without: names, ["ephemeral"] + addresses.map(\.absoluteString))
    }

    private func run(without names: [String], _ arguments: [String]) throws -> [String] {
        let libraries = try TemporaryDirectory()
        for name in names { _ = try libraries.write("no library", to: name) }
        let variables = ["LD_LIBRARY_PATH": libraries.path]
        return try SessionUser().run(arguments, environment: variables)
            .map { $0.replacingOccurrences(of: libraries.path + "/", with: "") }
    }

    // ERR-3, TLS-5
    @Test("an error names the missing library, and everything else works") func openSSL() throws {
        let server = try ScriptedServer.answering(.text("in clear"))
        let secure = try ScriptedServer.answering(.text("secure"), tls: TrustedAuthority.server())
        defer {
            server.stop()
            secure.stop()
        }
        let refusal = "failed -1200 A library could not be loaded: libssl.so.3: file too short"
        #expect(
            try run(without: ["libssl.so.3", "libssl.so"], secure.url(), server.url(), secure.url())
                == [refusal, "200 in clear", refusal])
    }

    // ERR-3
    @Test("an archive is not to blame") func importing() throws {
        let status = "-67585 The required service is not available: OpenSSL cannot be loaded."
        #expect(try run(without: ["libssl.so.3", "libssl.so"], ["import"]) == [status])
        #expect(try SessionUser().run("import") == ["-26275 The data could not be decoded."])
    }

    // ENC-1, ENC-2: a coding that the program asks for itself is an error that names the library
    @Test("without Brotli and Zstandard no request offers them") func codings() throws {
        let server = try ScriptedServer.answering(tls: TrustedAuthority.server()) { request in
            .text(request["Accept-Encoding"] ?? "none")
        }
        let coded = try ScriptedServer.answering(.text("x").with(field: "Content-Encoding", "br"))
        let zstd = try ScriptedServer.answering(.text("x").with(field: "Content-Encoding", "zstd"))
        defer { for server in [server, coded, zstd] { server.stop() } }
        #expect(
            try run(without: ["libbrotlidec.so.1", "libbrotlidec.so"], server.url(), coded.url())
                == ["200 gzip, deflate", "failed -1016 A library could not be loaded: libbrotlidec.so.1"])
        // Not over TLS: OpenSSL may need it as well.
        #expect(
            try run(without: ["libzstd.so.1", "libzstd.so"], zstd.url())
                == ["failed -1016 A library could not be loaded: libzstd.so.1"])
        #expect(try run(without: [], server.url()) == ["200 gzip, deflate, br"])
    }

    // CONN-2, CONN-5: the server chooses among the protocols that are offered
    @Test("without nghttp2 there is HTTP/1.1") func http2() throws {
        let options = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2", "http/1.1"] }
        let server = try ScriptedServer.answering(.text("over HTTP/1.1"), tls: options)
        defer { server.stop() }
        #expect(
            try run(without: ["libnghttp2.so.14", "libnghttp2.so"], server.url()) == ["200 over HTTP/1.1"])
        #expect(server.connections.map { $0.clientHello?.applicationProtocols } == [["http/1.1"]])
    }

    // CONN-6: it is advertised on the server's port, without a UDP server
    @Test("without the libraries of HTTP/3 there is TCP") func http3() throws {
        let server = try ScriptedServer.answering(tls: TrustedAuthority.server()) { request in
            let port = request["Host"]?.split(separator: ":").last ?? ""
            return .text("over TCP").with(field: "Alt-Svc", "h3=\":\(port)\"")
        }
        defer { server.stop() }
        let names = ["libngtcp2_crypto_gnutls.so.2", "libngtcp2_crypto_gnutls.so.8"]
        #expect(try run(without: names, server.url(), server.url()) == ["200 over TCP", "200 over TCP"])
    }

    // PROXY-8: a session to this machine does not pay for the settings of the desktop, and cleartext not for TLS
    @Test("libraries that are not needed are not loaded") func notNeeded() throws {
        let server = try ScriptedServer.answering(.text("in clear"))
        defer { server.stop() }
        let logs = try TemporaryDirectory()
        // What the dynamic linker does, one file for each process.
        let variables = ["LD_DEBUG": "files", "LD_DEBUG_OUTPUT": logs.path + "/loads"]
        let address = server.url().absoluteString
        #expect(try SessionUser().run(["ephemeral", address], environment: variables) == ["200 in clear"])
        let loaded = try FileManager.default.contentsOfDirectory(atPath: logs.path)
            .map { try String(contentsOfFile: logs.path + "/" + $0, encoding: .utf8) }.joined()
        let names = ["libz.so", "libproxy.so", "libssl.so", "libngtcp2.so", "libnghttp2.so", "libsqlite3.so"]
        #expect(names.filter(loaded.contains) == ["libz.so"])
    }
}
